"""A review: the aggregate of a stage begins the next one for what passed, exactly once."""

from concurrent.futures import ThreadPoolExecutor
from uuid import UUID

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

from llm_double import Fault, Kind, Scripted
from stage import House, abstracts
from tamis_producer import Client
from tamis_producer.gateway import api_keys
from tamis_producer.gateway.api_keys import Restrictions, Scope
from tamis_review import find_batch_or_review, find_review, list_reviews, submit_review
from tamis_review.plans.reviews import Review
from tamis_review.plans.stages import advance
from tamis_schemas import (
    BatchPaused,
    Exclusion,
    Extract,
    Filter,
    ItemStatus,
    Judge,
    NotAllowed,
    ReviewPlan,
    ReviewStage,
    Score,
    UnknownBatch,
    WaitTimeout,
)
from tamis_worker.ledger import recovery
from tamis_worker.ledger.connection import transaction

IS_IT = ReviewStage(operation=Filter(criteria="Is it?"))
HOW_GOOD = ReviewStage(operation=Score(criteria="How good?", interval=0.5), at_least=0.5)
DESIGN = ReviewStage(operation=Extract(instruction="Which design?"))
EVIDENCE = ReviewStage(operation=Judge(guidelines="Only what the record says."))
JUDGED = {"issue": "", "evidence_type": "explicit", "quality_score": 0.9, "is_valid": True}
A_TRIAL = {"reasoning": "it says so", "value": "a trial", "confidence": 0.9}


def said_yes(*numbers: int, of: int) -> list[Scripted]:
    """The answers of all stages: the later ones by their own words, the filter's by what stands in the record."""
    later = [
        Scripted("Only what the record says.", JUDGED),
        Scripted("Which design?", A_TRIAL),
        Scripted("How good?", {"reasoning": "so", "value": 0.5, "confidence": 0.9}),
    ]
    return later + [
        Scripted(f"record number {n}. ", {"reasoning": "seen", "value": n in numbers, "confidence": 0.9})
        for n in range(of)
    ]


def test_each_stage_takes_what_passed_the_one_before_it(house: House) -> None:
    client, double = house.client, house.fresh().double
    items = abstracts(12)
    for n, item in enumerate(items):
        item["_note"] = f"note {n}"
    double.script(answers=said_yes(2, 3, 5, 11, of=12), faults=[Fault(Kind.REFUSAL, contains="record number 11. ")])
    copy = Exclusion(rule="duplicate", reason="a copy", duplicate_of=2)
    plan = ReviewPlan(stages=(IS_IT, DESIGN, HOW_GOOD, EVIDENCE))
    review = submit_review(client, plan, items, label="twelve.csv", exclusions={5: copy})
    done = review.wait(timeout=60)
    assert (done.state, done.planned) == ("completed", ("filter", "extract", "score", "judge"))
    assert [view.counts.n_items for view in done.stages] == [12, 2, 2, 2]
    first, second, third, fourth = review.stages()
    assert first.status().counts.excluded_by_filter == 1
    assert first.status().counts.failed == 1  # record 11: what is not decided does not pass
    passed = list(second.results())
    assert [row.origin for row in passed] == [2, 3]
    assert [row.item for row in passed] == [items[2], items[3]]  # whole, hidden fields too
    assert [row.item_id for row in passed] == ["rec-2", "rec-3"]
    assert [row.origin for row in third.results()] == [2, 3]
    judged = list(fourth.results())
    assert [row.origin for row in judged] == [2, 3]
    assert all(row.status == ItemStatus.DECIDED and row.item["value"] == 0.5 for row in judged)
    assert second.status().label == "twelve.csv: extract"
    assert list_reviews(client, 1)[0] == review.status()


def test_a_review_in_which_nothing_passes_is_finished(house: House) -> None:
    client, double = house.client, house.fresh().double
    double.script(answers=said_yes(of=4))
    done = submit_review(client, ReviewPlan(stages=(IS_IT, DESIGN)), abstracts(4), label="four").wait(timeout=60)
    assert done.state == "completed"
    assert [view.operation for view in done.stages] == ["filter"]
    assert double.count() == 4


def test_a_stage_whose_model_the_key_may_not_ask_by_then_waits_and_goes_on_once_it_may(house: House) -> None:
    client, double = house.client, house.fresh().double
    double.script(latency=0.5, answers=said_yes(0, 1, of=2))
    both, one = Restrictions(models=("double-1", "double-2")), Restrictions(models=("double-1",))
    key = api_keys.create(client.engine, "A pipeline", [Scope.SUBMIT], both).split("_")[1]
    stages = (IS_IT.model_copy(update={"model": "double-1"}), DESIGN.model_copy(update={"model": "double-2"}))
    review = submit_review(client, ReviewPlan(stages=stages), abstracts(2), label="two", api_key_id=key)
    api_keys.change(client.engine, key, one)
    with pytest.raises(BatchPaused, match="may not use the model 'double-2': name one of double-1"):
        review.wait(timeout=60)
    with pytest.raises(NotAllowed):
        review.resume()
    assert double.count() == 2  # nothing was asked meanwhile
    api_keys.change(client.engine, key, both)
    review.resume()
    assert [view.counts.decided for view in review.wait(timeout=60).stages] == [2, 2]


def test_the_same_plan_with_the_same_records_is_the_same_review(house: House) -> None:
    client = house.fresh().client
    plan = ReviewPlan(stages=(IS_IT, DESIGN))
    with ThreadPoolExecutor(6) as pool:
        begun = [pool.submit(submit_review, client, plan, abstracts(5), label="five") for _ in range(6)]
        assert len({future.result().id for future in begun}) == 1
    first = begun[0].result()
    assert submit_review(client, plan, abstracts(6), label="five").id != first.id
    assert submit_review(client, ReviewPlan(stages=(IS_IT,)), abstracts(5), label="five").id != first.id
    again = submit_review(client, plan, abstracts(5), label="five", again=True)
    assert again.id != first.id
    assert isinstance(find_batch_or_review(client, first.id[:13]), Review)
    assert find_batch_or_review(client, first.stages()[0].id).id == first.stages()[0].id
    with pytest.raises(UnknownBatch, match="there is no review"):
        find_review(client, "00000000-0000")


def completed_by_hand(client: Client, *, passing: int, of: int) -> tuple[Review, UUID]:
    """A review whose first stage is completed, as a worker leaves it that dies before it begins the next."""
    review = submit_review(client, ReviewPlan(stages=(IS_IT, DESIGN)), abstracts(of), label="by hand")
    first = UUID(review.stages()[0].id)
    with client.engine.begin() as connection:
        for statement in (
            "UPDATE item_states SET state = 'running' WHERE batch_id = :b",
            "UPDATE item_states SET state = 'decided' WHERE batch_id = :b",
            "INSERT INTO results (batch_id, idx, fence, round, value, confidence, prompt_tokens, completion_tokens, "
            "calls) SELECT batch_id, idx, 1, 1, to_json(idx < :passing), 0.9, 1, 1, 1 FROM items WHERE batch_id = :b",
            "UPDATE shards SET state = 'aggregated', aggregated_at = now() WHERE batch_id = :b",
            "UPDATE batches SET state = 'completed', finished_at = now() - interval '1 minute' WHERE id = :b",
        ):
            connection.execute(
                text(statement), {"b": first, "passing": passing} if "passing" in statement else {"b": first}
            )
    return review, first


async def test_a_next_stage_that_nobody_began_is_found(client: Client, engine: AsyncEngine) -> None:
    review, first = completed_by_hand(client, passing=3, of=8)
    assert review.status().state == "running"

    async def found() -> list[UUID]:
        async with transaction(engine) as connection:
            return list(await recovery.find_unadvanced(connection, grace=15))

    assert await found() == [first]
    assert advance(client.engine, first) is not None
    assert await found() == []
    with pytest.raises(WaitTimeout, match="in stage 2 of 2"):
        review.wait(timeout=0)


def test_a_stage_begun_by_many_at_once_is_begun_once(client: Client) -> None:
    review, first = completed_by_hand(client, passing=3, of=8)
    with ThreadPoolExecutor(6) as pool:
        begun = {pool.submit(advance, client.engine, first).result() for _ in range(6)}
    assert len(begun) == 1
    assert [view.counts.n_items for view in review.status().stages] == [8, 3]


def test_a_last_stage_that_is_completed_finishes_the_review(client: Client) -> None:
    review, first = completed_by_hand(client, passing=0, of=8)
    assert advance(client.engine, first) is None
    assert review.status().finished_at is not None
    assert advance(client.engine, first) is None  # again: nothing more


def test_a_batch_of_no_review_has_no_next_stage(client: Client) -> None:
    assert advance(client.engine, UUID(client.submit(IS_IT.operation, abstracts(2)).id)) is None
