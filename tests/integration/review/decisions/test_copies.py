"""Two records that people call copies count as one, in every count and every stage, until this is taken back."""

import json
from collections import Counter

import httpx2 as httpx
import pytest
from sqlalchemy import delete, insert, select, text, update
from sqlalchemy.exc import DBAPIError

from stage.assessed import figures
from stage.gateway import signed_in
from stage.gateway_page import decision, record
from stage.screened import SCREENING, SOURCE, Place, decided, failed, kept_out, write_batch, write_review
from tamis_producer import Batch, Client
from tamis_producer.gateway.api_keys import Scope
from tamis_review import (
    decide_copies,
    draw_audit,
    draw_stop_sample,
    list_copies,
    may_stop,
    next_records,
    override,
    record_audit,
    set_screening_mode,
    withdraw_override,
)
from tamis_review.decisions.audits import AuditDecision
from tamis_review.decisions.decided_records import decision_of
from tamis_review.plans.stages import advance
from tamis_review.report.methods import methods
from tamis_schemas import Exclusion, InvalidParameters, ItemStatus, ScreeningMode
from tamis_schemas.batches.summary import Counts
from tamis_schemas.ledger import copy_decisions, items, transcripts
from tamis_schemas.records.source import Doubt

FOUND = Exclusion(rule="duplicate", reason="A copy of record 'r0': the same DOI.", duplicate_of=0)
RULED = Exclusion(rule="date_range", reason="of 1990")
DOUBTS = (Doubt(3, 0, "the same title, but another DOI"), Doubt(4, 2, "the same title, but another year"))
ROWS = [
    decided(record(0), decision("include")),
    kept_out(record(1), FOUND),
    decided(record(2), decision("exclude", exclusion_reason="Animal studies")),
    decided(record(3), decision("include")),
    decided(record(4), decision("include")),
    failed(record(5), "timeout"),
    kept_out(record(6), RULED),
]


@pytest.fixture
def review(client: Client) -> tuple[Batch, Batch]:
    """The two stages of a review, whose deduplication has two doubts."""
    source = SOURCE.model_copy(update={"doubts": DOUBTS})
    with client.engine.begin() as connection:
        of_review = write_review(connection, "walking", SCREENING, SCREENING, finished=True)
        first = write_batch(connection, ROWS, source=source, place=Place(of_review, 0))
        passed = [decided(record(n), decision("include"), origin=n) for n in (0, 3, 4)]
        second = write_batch(connection, passed, source=None, place=Place(of_review, 1))
    return client.batch(str(first)), client.batch(str(second))


def counted(client: Client, batch: Batch) -> Counter[str]:
    """The records by their final decision, from plain SQL; together they are the batch, also by state."""
    of_batch = text("SELECT decision, state FROM item_decisions WHERE batch_id = :id")
    with client.engine.connect() as connection:
        rows = connection.execute(of_batch, {"id": batch.id}).all()
        states = Counter(connection.execute(select(items.c.state).where(items.c.batch_id == batch.uuid)).scalars())
    shown = Counter(row.state for row in rows)
    for by_state in (shown, states):
        assert Counts(n_items=len(rows), **by_state).identity_holds
    flow = figures(client, batch.id).flow
    by_decision = Counter(row.decision for row in rows)
    assert (flow.duplicates, flow.stages[0].passed) == (by_decision["duplicate"], by_decision["passed"])
    assert flow.n_identified == flow.n_removed + flow.stages[0].entered == len(rows)
    return by_decision


def test_a_copy_is_one_more_duplicate_in_every_stage_until_it_is_taken_back(
    client: Client, review: tuple[Batch, Batch]
) -> None:
    before = [counted(client, batch) for batch in review]
    rows = [list(batch.results()) for batch in review]
    pair = decide_copies(review[0], 3, 0, "copies", reviewer="Lead")
    assert (pair.index, pair.of, pair.verdict, pair.reviewer) == (3, 0, "copies", "Lead")
    after = [counted(client, batch) for batch in review]
    assert after == [
        {**part, "duplicate": part.get("duplicate", 0) + 1, "passed": part["passed"] - 1} for part in before
    ]
    (copy,) = review[0].results([3])
    assert decision_of(copy) == "duplicate"
    assert (copy.status, copy.result) == (ItemStatus.EXCLUDED_BY_FILTER, None)
    assert copy.exclusion == Exclusion(
        rule="duplicate", reason="A copy of record 'r0', as Lead decided.", duplicate_of=0
    )
    assert next(iter(review[1].results([1]))).exclusion == copy.exclusion
    assert decision_of(next(iter(review[0].results([0])))) == "include"
    told = figures(client, review[0].id)
    assert "2 records were removed by software before screening" in " ".join(part.text for part in methods(told))
    assert "1 record was removed before screening as copies" in " ".join(part.text for part in methods(told))
    taken_back = decide_copies(review[0], 3, 0, None, reviewer="Reviewer B")
    assert (taken_back.verdict, taken_back.reviewer) == (None, "Reviewer B")
    assert [counted(client, batch) for batch in review] == before
    assert [list(batch.results()) for batch in review] == rows


def test_the_pairs_are_the_doubts_and_what_people_named_with_who_said_what_when(review: tuple[Batch, Batch]) -> None:
    batch, later = review
    assert [(pair.index, pair.of, pair.reason, pair.verdict) for pair in list_copies(batch)] == [
        (doubt.index, doubt.of, doubt.reason, None) for doubt in DOUBTS
    ]
    decide_copies(batch, 2, 4, "different", reviewer="A")  # the other way round it is the same pair
    decide_copies(batch, 5, 0, "copies", reviewer="B")
    doubted, named, different = list_copies(batch)
    assert doubted.decided_at is None
    assert (different.verdict, different.reviewer, different.reason) == ("different", "A", DOUBTS[1].reason)
    assert (named.ids, named.titles, named.reason) == (("r5", "r0"), ("Title 5", "Title 0"), None)
    assert different.decided_at is not None
    assert named.decided_at is not None
    assert different.decided_at <= named.decided_at
    assert list_copies(later) == []


def test_of_three_copies_two_verdicts_are_enough(review: tuple[Batch, Batch]) -> None:
    batch, _ = review
    decide_copies(batch, 2, 0, "copies", reviewer="A")
    assert [(pair.of, pair.index, pair.moot) for pair in list_copies(batch)] == [
        (0, 2, False),
        (0, 3, False),
        (2, 4, True),
    ]
    decide_copies(batch, 2, 0, None, reviewer="A")
    assert not any(pair.moot for pair in list_copies(batch))


def test_what_stays_may_be_changed(client: Client, review: tuple[Batch, Batch]) -> None:
    batch, _ = review
    for index, of in ((3, 0), (0, 3), (0, 3)):
        decide_copies(batch, index, of, "copies", reviewer="A")
    assert [decision_of(row) for row in batch.results([0, 3])] == ["duplicate", "include"]
    decide_copies(batch, 3, 0, "different", reviewer="A")
    assert [decision_of(row) for row in batch.results([0, 3])] == ["include", "include"]
    with client.engine.connect() as connection:
        said = connection.execute(select(copy_decisions.c.verdict).order_by(copy_decisions.c.id)).scalars().all()
    assert said == ["copies", "copies", "copies", "different"]


def test_a_copy_with_peoples_decisions_stays_and_a_copy_gets_none(review: tuple[Batch, Batch]) -> None:
    batch, later = review
    for decided_in, index in ((batch, 3), (later, 1)):
        override(decided_in, index, "include", reviewer="A")
        with pytest.raises(InvalidParameters, match="has a decision of A"):
            decide_copies(batch, 3, 0, "copies", reviewer="B")
        withdraw_override(decided_in, index, reviewer="A")
    assert list_copies(batch)[0].decided_at is None
    decide_copies(batch, 3, 0, "copies", reviewer="B")
    override(batch, 0, "include", reviewer="A")
    for decided_in, index in ((batch, 3), (later, 1)):
        with pytest.raises(InvalidParameters, match="A copy of record 'r0', as B decided"):
            override(decided_in, index, "include", reviewer="A")


@pytest.mark.parametrize(
    ("index", "of", "refusal"),
    [
        (3, 1, r"No. 2 \(index 1\) was removed before screening: A copy of record 'r0': the same DOI"),
        (6, 3, r"No. 7 \(index 6\) was removed before screening: of 1990"),
        (2, 4, r"No. 5 \(index 4\) was removed before screening: A copy of record 'r0', as A decided"),
        (4, 2, r"No. 5 \(index 4\) was removed before screening"),
        (3, 3, "name two different records"),
        (3, 7, "name two different records"),
    ],
)
def test_only_two_records_that_are_screened_can_be_copies(
    review: tuple[Batch, Batch], index: int, of: int, refusal: str
) -> None:
    batch, later = review
    decide_copies(batch, 4, 0, "copies", reviewer="A")
    with pytest.raises(InvalidParameters, match=refusal):
        decide_copies(batch, index, of, "copies", reviewer="B")
    with pytest.raises(InvalidParameters, match="there is no verdict on these two records"):
        decide_copies(batch, 3, 0, None, reviewer="B")
    with pytest.raises(InvalidParameters, match=f"the review's first batch, {batch.id}"):
        decide_copies(later, 1, 0, "copies", reviewer="B")
    assert [pair.reviewer for pair in list_copies(batch)] == [None, "A", None]


def test_nobody_is_asked_to_read_a_copy(client: Client, review: tuple[Batch, Batch]) -> None:
    batch, _ = review
    next_records(batch)  # so that there is an order from before
    decide_copies(batch, 3, 0, "copies", reviewer="A")
    assert {one.index for one in next_records(batch).records} == {0, 2, 4, 5, 6}
    override(batch, 0, "include", reviewer="A")
    next_records(batch, fresh=True)  # an order without the copy
    decide_copies(batch, 3, 0, None, reviewer="A")
    assert {one.index for one in next_records(batch, fresh=True).records} == {2, 3, 4, 5, 6}


def test_a_copy_in_a_sample_is_no_include_and_does_not_hold_it_up(client: Client, review: tuple[Batch, Batch]) -> None:
    batch, _ = review
    sample = draw_stop_sample(batch, recall=0.9, confidence=0.9, seed=1).samples[0]
    drawn = [one.index for one in sample.records]
    copy = next(index for index in drawn if index not in (0, 6))
    decide_copies(batch, copy, 0, "copies", reviewer="A")
    for index in drawn:
        if index != copy:
            override(batch, index, "exclude", reviewer="A")
    stop = may_stop(batch, recall=0.9, confidence=0.9)
    assert [one.included for one in stop.samples[0].records] == [False] * len(drawn)
    assert stop.records == len(ROWS) - 2


def test_an_audits_miss_that_is_a_copy_is_not_included_again(client: Client, review: tuple[Batch, Batch]) -> None:
    batch, _ = review
    audit_id = draw_audit(batch, 2, seed=1).id
    decide_copies(batch, 2, 0, "copies", reviewer="A")
    record_audit(client, audit_id, [AuditDecision(2, True, "A")])
    assert counted(client, batch)["duplicate"] == 2


def test_a_blind_reader_of_a_review_with_later_stages_cannot_probe_them_by_copies(
    review: tuple[Batch, Batch], http: httpx.Client
) -> None:
    batch, _ = review
    set_screening_mode(batch, ScreeningMode.PAIR, set_by="Lead")
    refused = http.post(f"/v1/batches/{batch.id}/copies", json={"index": 3, "of": 0, "verdict": "copies"})
    assert refused.status_code == 403
    assert "still read blind" in refused.json()["detail"]


def test_saying_copies_shows_a_blind_reader_nothing(client: Client, http: httpx.Client) -> None:
    with client.engine.begin() as connection:
        batch_id = write_batch(connection, ROWS, operation=SCREENING)
    batch = client.batch(str(batch_id))
    set_screening_mode(batch, ScreeningMode.PAIR, set_by="Lead")
    with client.engine.begin() as connection:
        connection.execute(insert(transcripts).values(batch_id=batch.uuid, idx=3, fence=1, round=1, calls=[]))
    path = f"/v1/batches/{batch.id}"
    assert http.get(f"{path}/records/3/explanation").status_code == 403
    verdict = {"index": 3, "of": 0, "verdict": "copies"}
    told = http.post(f"{path}/copies", json=verdict).json()
    assert {"because", "include"}.isdisjoint(json.dumps(told).replace('"', " ").split())
    story = http.get(f"{path}/records/3/explanation").json()
    assert (story["record"]["result"], story["transcripts"]) == (None, [])
    assert story["gap"].startswith("a person called the record a copy")
    assert http.get(f"{path}/results").status_code == 403
    row = next(one for one in http.get(f"{path}/work?show=all").json()["items"] if one["index"] == 3)["row"]
    assert row["outcome"] == "duplicate"
    assert {"sure", "system", "verdicts"}.isdisjoint(row)


def test_the_page_lists_pairs_and_a_readers_key_says_nothing(
    client: Client, review: tuple[Batch, Batch], http: httpx.Client
) -> None:
    path = f"/v1/batches/{review[0].id}"
    tagged = http.get(f"{path}/results").headers["etag"]
    verdict = {"index": 3, "of": 0, "verdict": "copies"}
    made = http.post(f"{path}/copies", json=verdict)
    assert (made.status_code, made.json()["reviewer"]) == (200, "Reviewer A")
    assert http.get(f"{path}/results", headers={"If-None-Match": tagged}).status_code == 200
    assert [pair["verdict"] for pair in http.get(f"{path}/copies").json()["items"]] == ["copies", None]
    assert http.get(f"{path}/work").json()["counts"]["todo"] == 4
    assert http.get("/v1/reviews").json()["items"][0]["next_step"] == "6 records to read"  # 4 and 2, stage by stage
    refused = http.post(f"{path}/items/3/override", json={"value": "include"})
    assert (refused.status_code, "as Reviewer A decided" in refused.json()["detail"]) == (422, True)
    for body in (verdict | {"of": 9}, verdict | {"verdict": "perhaps"}, {"index": 3, "of": 0}):
        assert http.post(f"{path}/copies", json=body).status_code == 422
    with signed_in(client, "B", Scope.READ) as reader:
        assert reader.post(f"{path}/copies", json=verdict).status_code == 403
    of_animals = f"{path}/work?show=all&reason=Animal studies"
    assert [record["index"] for record in http.get(of_animals).json()["items"]] == [2]
    http.post(f"{path}/copies", json=verdict | {"index": 2})
    assert http.get(of_animals).json()["items"] == []
    for index in (2, 3):
        assert http.post(f"{path}/copies", json=verdict | {"index": index, "verdict": None}).json()["verdict"] is None
    assert http.get(f"{path}/work").json()["counts"]["todo"] == 5


def test_the_next_stage_gets_no_copy(client: Client) -> None:
    with client.engine.begin() as connection:
        place = Place(write_review(connection, "walking", SCREENING, SCREENING), 0)
        batch_id = write_batch(connection, ROWS, place=place)
    decide_copies(client.batch(str(batch_id)), 3, 0, "copies", reviewer="A")
    later = advance(client.engine, batch_id)
    assert [row.origin for row in client.batch(str(later)).results()] == [0, 4]


def test_nobody_changes_a_verdict_in_the_ledger(client: Client, review: tuple[Batch, Batch]) -> None:
    decide_copies(review[0], 3, 0, "copies", reviewer="A")
    for change in (update(copy_decisions).values(verdict=None), delete(copy_decisions)):
        with pytest.raises(DBAPIError, match="added to, never changed"), client.engine.begin() as connection:
            connection.execute(change)
