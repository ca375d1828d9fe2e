"""What a person should read next, from a screened batch in a real ledger."""

import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from sqlalchemy import Connection, select, text, update

from stage.screened import Ledgered, decided, failed, kept_out, write_batch
from tamis_producer import Batch, Client
from tamis_review import decide, next_records, override, reading, withdraw_override
from tamis_review.decisions.record_overrides import HumanDecision
from tamis_review.order import next_records as use_case
from tamis_review.order import refit as refits
from tamis_review.order.candidates import Candidate, stream_candidates
from tamis_review.order.next_records import NextQuery
from tamis_schemas import (
    ConfigurationError,
    Exclusion,
    InclusionDecision,
    InvalidParameters,
    InvalidRequest,
    ItemStatus,
    NextRecords,
    ReadingReason,
    Score,
)
from tamis_schemas.ledger import items, reading_orders, results

WALKING = "supervised walking exercise after surgery of the hip in adults"
FISH = "migration of salmon in cold rivers during spring"
BIRDS = "nests of swallows under roofs in old villages"


def record(n: int, subject: str) -> dict[str, object]:
    return {"id": f"r{n}", "title": f"Record {n} on {subject}", "abstract": f"{subject}, report {n % 3}"}


def said(status: str, confidence: float) -> InclusionDecision:
    return InclusionDecision.model_validate({"status": status, "confidence": confidence, "rationale": "because"})


# The model likes records of fish; people will include those of walking, which it does not.
FISHES = [decided(record(n, FISH), said("include", 0.9 - n / 100)) for n in range(10)]
WALKS = [decided(record(n, WALKING), said("exclude", 0.6 + n / 100)) for n in range(10, 20)]
NESTS = [decided(record(n, BIRDS), said("exclude", 0.9)) for n in range(20, 30)]
ODD = [
    kept_out(record(30, WALKING), Exclusion(rule="title_pattern", reason="in rats")),
    kept_out(record(31, WALKING), Exclusion(rule="duplicate", reason="the same DOI", duplicate_of=10)),
    decided(record(32, BIRDS), said("uncertain", 0.5)),
    failed(record(33, BIRDS), "timeout"),
    Ledgered({"id": "r34", "name": "no publication", "year": 1999}, ItemStatus.PENDING),
]
ROWS = [*FISHES, *WALKS, *NESTS, *ODD]
COPY, RULED = 31, 30


def written(client: Client, rows: list[Ledgered], **more: object) -> Batch:
    with client.engine.begin() as connection:
        batch_id = write_batch(connection, rows, **more)  # type: ignore[arg-type]  # as they were given
        connection.execute(text("SELECT settle_tallies(:b)"), {"b": batch_id})
    return client.batch(str(batch_id))


@pytest.fixture
def batch(client: Client) -> Batch:
    return written(client, ROWS)


def read(batch: Batch, decisions: dict[int, bool], reviewer: str = "Reviewer A") -> None:
    for index, include in decisions.items():
        override(batch, index, "include" if include else "exclude", reviewer=reviewer)


def places(answer: NextRecords) -> list[int]:
    return [one.index for one in answer.records]


def candidates(client: Client, batch: Batch, *, texts: bool = True, places: list[int] | None = None) -> list[Candidate]:
    with client.engine.connect() as connection:
        return list(stream_candidates(connection, batch.uuid, texts=texts, places=places))


def test_records_are_read_from_the_ledger_with_text_score_and_what_people_decided(client: Client, batch: Batch) -> None:
    read(batch, {0: True, 10: False, 30: True})
    read(batch, {1: True})
    read(batch, {1: False}, "Reviewer B")
    decide(batch, [HumanDecision(2, None, "Reviewer A", unsure=True)])
    found = {one.index: one for one in candidates(client, batch)}
    assert list(found) == [*range(31), 32, 33, 34]  # the copy is none of them
    assert found[3] == Candidate(3, "r3", f"Record 3 on {FISH}", f"{FISH}, report 0", 0.87, None, False, None)
    assert [found[n].score for n in (0, 10, 32, 33, 34, 30)] == [0.9, 0.3, None, None, None, None]
    stands = {n: (found[n].decided, found[n].included) for n in (0, 1, 2, 3, 10, 30)}
    assert stands == {
        0: (True, True),
        1: (False, None),  # people disagree
        2: (True, None),
        3: (False, None),
        10: (True, False),
        30: (True, True),
    }
    assert (found[30].rule, found[34].title, found[34].abstract) == ("title_pattern", "", "no publication")
    without = candidates(client, batch, texts=False)
    assert without == [replace(one, title="", abstract="") for one in found.values()]
    assert candidates(client, batch, places=[34, 3, COPY]) == [found[3], found[34]]


def test_before_anybody_decides_the_order_is_the_models_and_rules_come_last(batch: Batch) -> None:
    answer = next_records(batch, 100, explore=0)
    assert places(answer)[:10] == list(range(10))
    assert set(places(answer)[10:13]) == {32, 33, 34}  # without a score: half-way, as what is excluded lies below
    assert places(answer)[13:23] == list(range(10, 20))
    assert places(answer)[-1] == RULED
    assert (answer.unread, answer.decided, answer.made_after, answer.current) == (34, 0, 0, True)
    assert answer.records[0].why == "the model scores it 0.90"
    assert answer.records[-1].why == "last, because the rule title_pattern excluded it"
    assert answer.meaning.startswith("The order follows the model's scores, highest first")
    assert next_records(batch, 3, explore=0).records == answer.records[:3]


def test_what_people_decide_leads_to_texts_like_it_and_is_not_offered_again(batch: Batch) -> None:
    before = next_records(batch, 100, explore=0)
    read(batch, {0: False, 1: False, 2: False, 3: False, 10: True, 11: True, 12: True, 20: False})
    answer = next_records(batch, 100, explore=0)
    assert set(places(answer)) == set(places(before)) - {0, 1, 2, 3, 10, 11, 12, 20}
    assert set(places(answer)[:7]) == set(range(13, 20))
    assert places(answer)[-1] == RULED
    assert answer.records[0].reason is ReadingReason.TEXT
    assert answer.records[0].why == "its text resembles the 3 included records"
    assert (answer.decided, answer.included, answer.unread, answer.made_after) == (8, 3, 26, 8)
    assert answer.current
    assert answer.text_weight > 0.2
    assert "learned from 8 decisions, 3 of them to include" in answer.meaning
    withdraw_override(batch, 10, reviewer="Reviewer A")
    assert 10 in places(next_records(batch, 100, explore=0))


def test_the_order_follows_from_seed_and_decisions_alone(client: Client, batch: Batch) -> None:
    again = written(client, ROWS)
    decisions = {0: False, 10: True, 21: False, 12: True}
    read(batch, decisions)
    for index in reversed(decisions):  # one by one, with an order asked for in between, in another sequence
        next_records(again, 5, seed=7)
        read(again, {index: decisions[index]})
    one, two = (next_records(each, 100, seed=7, explore=0.2) for each in (batch, again))
    assert one.records == two.records
    assert sum(record.reason is ReadingReason.EXPLORATION for record in one.records) in range(5, 8)  # 29 * 0.2
    other = next_records(batch, 100, seed=8, explore=0.2)
    assert (other.seed, sorted(places(other))) == (8, sorted(places(one)))
    assert places(other) != places(one)


def test_who_reads_in_pairs_is_given_what_the_other_has_read_and_not_what_was_said(batch: Batch) -> None:
    read(batch, {12: True, 5: False, 0: False})
    read(batch, {5: True}, "Reviewer B")
    mine = next_records(batch, 100, reviewer="Reviewer B", explore=0)
    assert places(mine)[:2] == [12, 0]  # as Reviewer A read them
    assert {(one.reason, one.why) for one in mine.records[:2]} == {
        (ReadingReason.PAIR, "another reviewer has decided on it, and you have not")
    }
    assert 5 not in places(mine)
    anybody = next_records(batch, 100, explore=0)
    assert not {0, 12} & set(places(anybody))
    (conflict,) = [one for one in anybody.records if one.index == 5]
    assert (conflict.reason, conflict.why) == (ReadingReason.CONFLICT, "people disagree on it: settle it")
    assert (anybody.conflicts, anybody.decided, anybody.included) == (1, 2, 1)
    assert next_records(batch, 100, reviewer="Reviewer A", explore=0).unread == 31
    withdraw_override(batch, 5, reviewer="Reviewer B")
    assert 5 in places(next_records(batch, 100, reviewer="Reviewer B"))


def test_a_sample_that_is_being_read_comes_before_everything(client: Client, batch: Batch) -> None:
    read(batch, {29: False})
    answer = use_case.next_records(
        client.engine, batch.uuid, NextQuery(5, explore=0), reading.order_refits(client), first=[RULED, 29, 22]
    )
    assert places(answer) == [RULED, 22, 0, 1, 2]
    assert answer.records[0].why == "it belongs to the random sample of tamis stop"


def test_results_that_come_in_change_the_order(client: Client, batch: Batch) -> None:
    assert places(next_records(batch, 1, explore=0)) == [0]
    with client.engine.begin() as connection:
        _answer(connection, batch, 34)
    answer = next_records(batch, 1, explore=0)
    assert (places(answer), answer.records[0].score) == ([34], 0.99)


@pytest.mark.night
def test_a_larger_batch_is_answered_from_the_order_that_is_kept(
    client: Client, batch: Batch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(use_case, "SMALL", 10)
    read(batch, {0: False, 1: False, 10: True, 11: True})
    first = next_records(batch, 100, explore=0)
    assert (first.current, first.made_after, first.decided) == (False, 0, 4)
    assert places(first)[:8] == list(range(2, 10))  # the model's order at once, without what is decided
    assert "being updated (4 records are decided now)" in first.meaning
    reading.order_refits(client).wait()
    second = next_records(batch, 100, explore=0)
    assert (second.current, second.made_after) == (True, 4)
    assert set(places(second)[:8]) == set(range(12, 20))
    read(batch, {12: True})
    third = next_records(batch, 100, explore=0)
    assert (third.current, third.made_after, third.decided) == (False, 4, 5)
    assert places(third) == [one for one in places(second) if one != 12]
    fresh = next_records(batch, 100, explore=0, fresh=True)
    assert (fresh.current, fresh.made_after) == (True, 5)
    other = next_records(batch, 100, seed=5, explore=0.5)  # of other terms nothing is kept: the model's order again
    assert (other.seed, other.explore, other.current, other.made_after) == (5, 0.5, False, 0)
    reading.order_refits(client).wait()
    assert next_records(batch, 100, seed=5, explore=0.5).made_after == 5


def test_two_callers_have_one_order_worked_out(client: Client, batch: Batch, monkeypatch: pytest.MonkeyPatch) -> None:
    read(batch, {0: False, 10: True})
    worked_out: list[object] = []
    plain = refits.reading_order

    def counted(*arguments: object) -> refits.ReadingOrder:
        worked_out.append(arguments)
        return plain(*arguments)  # type: ignore[arg-type]  # as they were given

    monkeypatch.setattr(refits, "reading_order", counted)
    with ThreadPoolExecutor(4) as threads:
        answers = [one.result() for one in [threads.submit(next_records, batch, 50) for _ in range(4)]]
    assert len(worked_out) == 1
    assert len({one.records for one in answers}) == 1


@pytest.mark.parametrize(
    ("how", "complaint"),
    [
        ({"n": 0}, "n: 0 must be a number of records"),
        ({"n": 1_001}, "n: 1,001 records are too many: the maximum is 1,000"),
        ({"seed": -1}, "seed: -1 must be a whole number"),
        ({"explore": 1.5}, "explore: 1.5 is not a share"),
        ({"reviewer": " "}, "reviewer: ' ' is not a name"),
    ],
)
def test_a_query_that_makes_no_sense_is_refused(batch: Batch, how: dict[str, object], complaint: str) -> None:
    with pytest.raises(InvalidParameters, match=complaint):
        next_records(batch, **how)  # type: ignore[arg-type]  # as they were given


def test_a_batch_that_decides_nothing_has_no_order(client: Client) -> None:
    scored = written(client, [Ledgered(record(0, FISH), value=0.5)], operation=Score(criteria="x"))
    with pytest.raises(InvalidRequest, match="has the operation score, which includes and excludes nothing"):
        next_records(scored)


def test_without_the_extra_it_is_named(batch: Batch, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numpy", None)
    with pytest.raises(ConfigurationError, match=r"tamis\[order\]"):
        next_records(batch)


def test_a_batch_of_which_everything_is_read_says_so(client: Client) -> None:
    batch = written(client, FISHES[:3])
    read(batch, {0: True, 1: False, 2: False})
    answer = next_records(batch)
    assert (answer.records, answer.unread) == ((), 0)
    assert answer.meaning == "No record is left to read: every record has a decision."


def _answer(connection: Connection, batch: Batch, place: int) -> None:
    """The model's include of an item that waited."""
    row = connection.execute(select(results).where(results.c.batch_id == batch.uuid, results.c.idx == 0)).one()
    values = row._asdict() | {"idx": place, "confidence": 0.99}
    connection.execute(results.insert().values(values))
    here = (items.c.batch_id == batch.uuid) & (items.c.idx == place)
    for state in (ItemStatus.RUNNING, ItemStatus.DECIDED):
        connection.execute(update(items).where(here).values(state=state.value))
    assert connection.execute(select(reading_orders.c.batch_id)).all() != []
