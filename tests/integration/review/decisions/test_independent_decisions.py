"""Agreement between people is of independent decisions: those that stood when the record opened to their reader."""

from collections.abc import Sequence
from uuid import UUID

import pytest
from sqlalchemy import select

from stage.assessed import A, B, C, record, said
from stage.screened import decided, written_batch
from tamis_producer import Batch, Client
from tamis_producer.ledger.overrides import human_decisions
from tamis_review import decide, measure_agreement
from tamis_review.decisions.blindness import set_mode
from tamis_review.decisions.record_overrides import HumanDecision
from tamis_review.decisions.stop_samples import read_reading_state
from tamis_schemas import ScreeningMode

PAIR, SECOND, SINGLE = ScreeningMode.PAIR, ScreeningMode.MODEL_SECOND, ScreeningMode.SINGLE
Said = tuple[str, str | None]  # reviewer, value (None withdraws)


def test_agreement_stays_what_it_was_when_a_reader_takes_over_the_others_decisions(client: Client) -> None:
    batch = written_batch(client, [decided(record(n), said("include")) for n in range(10)])
    with client.engine.begin() as connection:
        set_mode(connection, UUID(batch.id), PAIR, set_by="Lead")
    for who, excluded in ((A, ()), (B, (3, 4))):
        decide(batch, [HumanDecision(n, "exclude" if n in excluded else "include", who) for n in range(10)])
    decide(batch, [HumanDecision(n, "include", B) for n in (3, 4)])  # the conflicts are open: B gives in
    (pair,) = measure_agreement(batch).people
    assert (pair.first, pair.second, pair.agreement.n, pair.agreement.observed) == (A, B, 10, 0.8)
    with client.engine.connect() as connection:
        double = read_reading_state(connection, UUID(batch.id), "inclusion").double
    assert double is not None
    assert (double.records, double.includes, double.missed_by_one) == (10, 10, 2)


def lived(client: Client, mode: ScreeningMode, history: Sequence[Said]) -> Batch:
    """A batch of one record, which the model includes, with these decisions on it."""
    batch = written_batch(client, [decided(record(0), said("include"))])
    with client.engine.begin() as connection:
        set_mode(connection, UUID(batch.id), mode, set_by="Lead")
    for who, value in history:
        decide(batch, [HumanDecision(0, value, who, withdraw=value is None, unsure=value == "uncertain")])
    return batch


@pytest.mark.parametrize(
    ("mode", "history", "expected"),
    [
        (PAIR, [(A, "include"), (A, "exclude")], {A: "exclude"}),  # still alone
        (PAIR, [(A, "include"), (B, "exclude"), (A, "exclude")], {A: "include", B: "exclude"}),
        (PAIR, [(A, "include"), (A, "exclude"), (B, "include")], {A: "exclude", B: "include"}),
        # withdrawn, the record is as blind as before
        (PAIR, [(A, "include"), (A, None), (B, "exclude"), (A, "uncertain")], {A: "uncertain", B: "exclude"}),
        # a withdrawal after it opened takes nothing back
        (PAIR, [(A, "include"), (B, "exclude"), (B, None), (B, "include")], {A: "include", B: "exclude"}),
        (PAIR, [(A, "include"), (B, "exclude"), (C, "exclude")], {A: "include", B: "exclude"}),  # C saw both
        (SINGLE, [(A, "include"), (B, "exclude"), (C, "exclude")], {A: "include", B: "exclude", C: "exclude"}),
        (SECOND, [(A, "include"), (A, "exclude"), (B, "exclude")], {A: "include", B: "exclude"}),  # A saw the model's
    ],
)
def test_which_decision_is_independent(
    client: Client, mode: ScreeningMode, history: Sequence[Said], expected: dict[str, str]
) -> None:
    lived(client, mode, history)
    view = human_decisions.c
    with client.engine.connect() as connection:
        marks = (view.independent, view.blind, view.current)
        marked = connection.execute(select(view.reviewer, view.value, *marks).order_by(view.id)).all()
    assert {row.reviewer: row.value for row in marked if row.independent} == expected
    assert {row.reviewer: row.value for row in marked if row.blind} == (expected if mode.blind else {})
    assert [row.current for row in marked] == [
        value is not None and who not in dict(history[n + 1 :]) for n, (who, value) in enumerate(history)
    ]


def test_a_settling_decision_is_not_independent(client: Client) -> None:
    batch = written_batch(client, [decided(record(0), said("include"))])
    for who, value, settles in ((A, "include", False), (B, "exclude", False), (C, "include", True)):
        decide(batch, [HumanDecision(0, value, who, settles=settles)])
    assert [(pair.first, pair.second) for pair in measure_agreement(batch).people] == [(A, B)]


@pytest.mark.parametrize(
    ("mode", "history", "compared"),
    [
        # the model includes; both give in to it, and their agreement with it stays what it was
        (PAIR, [(A, "exclude"), (B, "exclude"), (A, "include"), (B, "include")], (1, 0.0)),
        (SECOND, [(A, "exclude"), (A, "include")], (1, 0.0)),
        (SINGLE, [(A, "exclude"), (A, "include")], (1, 1.0)),  # seen beside the model's from the start
        (
            PAIR,
            [(A, "exclude"), (B, "include"), (A, "include")],
            (1, 1.0),
        ),  # blind they differed: what counts is compared
        (
            PAIR,
            [(A, "uncertain"), (A, None), (A, "uncertain"), (B, "uncertain"), (A, "include"), (B, "include")],
            (0, None),
        ),
        (PAIR, [(A, "exclude"), (A, None)], (0, None)),
    ],
)
def test_software_is_compared_with_what_blind_readers_decided_before_they_saw_its_decision(
    client: Client, mode: ScreeningMode, history: Sequence[Said], compared: tuple[int, float | None]
) -> None:
    batch = lived(client, mode, history)
    overrides = measure_agreement(batch).overrides
    assert (overrides.n, overrides.observed) == compared


def test_a_decision_made_in_sight_of_the_models_stays_so_when_people_begin_to_read_blind(client: Client) -> None:
    batch = written_batch(client, [decided(record(0), said("include"))])
    decide(batch, [HumanDecision(0, "exclude", A)])
    with client.engine.begin() as connection:
        set_mode(connection, UUID(batch.id), PAIR, set_by="Lead")
    decide(batch, [HumanDecision(0, "uncertain", A, unsure=True)])
    decide(batch, [HumanDecision(0, "include", B)])
    with client.engine.connect() as connection:
        view = human_decisions.c
        blind = connection.execute(select(view.reviewer).where(view.blind)).scalars().all()
    assert blind == [B]
