"""A batch at the flex tier, where capacity comes and goes: nothing fails for it, and nobody else waits for it."""

from collections.abc import Callable
from functools import partial

import pytest
from sqlalchemy import text

from llm_double import Double, Personality
from stage import WorkerProcess, abstracts, wait_until
from tamis_producer import Batch, Client
from tamis_producer.ledger.worker_view import WorkerState
from tamis_review import submit_review
from tamis_schemas import Filter, ReviewPlan, ReviewStage, Score, Steering, Tier, TierFallback

ONCOLOGY = Filter(criteria="Is this about oncology?")
OTHER = Filter(criteria="Is this about something else?")
FLEX = Steering(tier=Tier.FLEX)
PATIENT = Steering(tier=Tier.FLEX, tier_fallback=TierFallback.WAIT)
NO_CAPACITY = Personality("flex_capacity", available=False)
CAPACITY = Personality("flex_capacity")
CONCURRENCY = 8
EFFECTIVE_WITHIN = 5.0  # s, on all workers
StartWorker = Callable[..., WorkerProcess]


def claims(client: Client, batch: Batch) -> list[int]:
    with client.engine.connect() as connection:
        statement = text("SELECT attempts FROM items WHERE batch_id = :id")
        return list(connection.execute(statement, {"id": batch.id}).scalars())


def asked_at(double: Double, status: int) -> list[object]:
    return [call.parameters.get("service_tier") for call in double.calls() if call.status == status]


def reached(batch: Batch, decided: int) -> bool:
    return batch.status().counts.decided >= decided


def refused(double: Double, before: int) -> bool:
    return double.count(429) > before


def waiting(client: Client, start_worker: StartWorker, double: Double, items: int = 30) -> Batch:
    """A batch that waits for capacity as long as it takes, all of it aside on a worker of eight places."""
    double.script(personalities=[NO_CAPACITY])
    start_worker(concurrency=str(CONCURRENCY), lease_seconds="3", sweep_interval="1")
    batch = client.submit(ONCOLOGY, abstracts(items), steering=PATIENT)
    wait_until(lambda: batch.status().counts.running == items, within=30, what="all its items stand aside")
    return batch


@pytest.mark.night
@pytest.mark.parametrize("items", [300, 2000])
def test_capacity_that_comes_and_goes_fails_no_item_and_spends_no_attempt(
    client: Client, start_worker: StartWorker, double: Double, items: int
) -> None:
    double.script(latency=0.05, personalities=[CAPACITY])
    for _ in range(2):
        start_worker(concurrency="16")
    flex = client.submit(ONCOLOGY, abstracts(items), steering=FLEX)
    standard = client.submit(OTHER, abstracts(100))
    for decided in (items // 6, items // 3, items // 2):  # whoever looks late finds some left
        wait_until(partial(reached, flex, decided), within=60, what=f"{decided} are decided")
        before = double.count(429)
        double.script(personalities=[NO_CAPACITY])
        wait_until(partial(refused, double, before), within=30, what="capacity is missed")
        double.script(personalities=[CAPACITY])
    assert standard.wait(timeout=60).decided == 100
    assert flex.wait(timeout=120).decided == items
    assert claims(client, flex) == [1] * items
    assert set(asked_at(double, 429)) == {"flex"}
    assert len(asked_at(double, 429)) <= 3 * 2 * (16 + 4)  # what was in flight in both workers, and who found out
    assert asked_at(double, 200).count("flex") == items
    paid = double.account().of(tier="flex")
    assert (flex.status().prompt_tokens, flex.status().completion_tokens) == (
        paid.prompt_tokens,
        paid.completion_tokens,
    )


@pytest.mark.night
def test_an_item_whose_patience_is_over_is_asked_at_the_standard_tier(
    client: Client, start_worker: StartWorker, double: Double
) -> None:
    double.script(personalities=[NO_CAPACITY])
    start_worker(concurrency=str(CONCURRENCY))
    batch = client.submit(ONCOLOGY, abstracts(60), steering=Steering(tier=Tier.FLEX, tier_patience=1.5))
    assert batch.wait(timeout=60).decided == 60
    assert asked_at(double, 200) == ["default"] * 60
    # One of each at first, and then one call at a time finds out, after one second and after two.
    assert len(asked_at(double, 429)) <= CONCURRENCY + 4


@pytest.mark.night
def test_items_that_wait_for_capacity_make_room_for_a_batch_of_another_tier(
    client: Client, start_worker: StartWorker, double: Double
) -> None:
    flex = waiting(client, start_worker, double)
    # Eight at first, then one at a time after 1, 2, 4 and 8 seconds, at half of that at the soonest.
    assert double.count(429) <= CONCURRENCY + 5
    standard = client.submit(OTHER, abstracts(60))
    assert standard.wait(timeout=30).decided == 60  # though the worker has eight places, and thirty items wait
    assert flex.status().counts.running == 30
    wait_until(
        lambda: (
            [(view.state, view.reason) for view in client.workers()]
            == [(WorkerState.WAITING, "the endpoint has no capacity at the flex tier")]
        ),
        within=10,
        what="the worker says what it waits for",
    )
    double.script(personalities=[CAPACITY])
    assert flex.wait(timeout=60).decided == 30
    assert asked_at(double, 200).count("flex") == 30
    assert claims(client, flex) == [1] * 30


def test_what_waits_for_capacity_is_given_back_when_its_batch_is_paused(
    client: Client, start_worker: StartWorker, double: Double
) -> None:
    batch = waiting(client, start_worker, double)
    batch.pause()
    wait_until(lambda: batch.status().counts.pending == 30, within=EFFECTIVE_WITHIN, what="nothing runs any more")
    assert claims(client, batch) == [0] * 30
    double.script(personalities=[CAPACITY])
    batch.resume()
    assert batch.wait(timeout=60).decided == 30


@pytest.mark.night
def test_what_waits_for_capacity_ends_with_its_batch_when_that_is_cancelled(
    client: Client, start_worker: StartWorker, double: Double
) -> None:
    batch = waiting(client, start_worker, double)
    batch.cancel()
    wait_until(lambda: batch.status().finished, within=EFFECTIVE_WITHIN, what="the batch has ended")
    assert batch.status().counts.cancelled == 30


@pytest.mark.night
@pytest.mark.parametrize("how", ["kill", "stop"])
def test_a_worker_that_ends_while_its_items_wait_leaves_them_to_others(
    client: Client, start_worker: StartWorker, double: Double, how: str
) -> None:
    double.script(personalities=[NO_CAPACITY])
    first = start_worker(concurrency=str(CONCURRENCY), lease_seconds="3", sweep_interval="1")
    batch = client.submit(ONCOLOGY, abstracts(30), steering=PATIENT)
    wait_until(lambda: batch.status().counts.running == 30, within=30, what="all its items stand aside")
    getattr(first, how)()
    double.script(personalities=[CAPACITY])
    start_worker(concurrency=str(CONCURRENCY), lease_seconds="3", sweep_interval="1")
    assert batch.wait(timeout=60).decided == 30
    assert asked_at(double, 200) == ["flex"] * 30


def test_a_worker_may_be_set_to_a_tier_and_a_batch_says_otherwise(
    client: Client, start_worker: StartWorker, double: Double
) -> None:
    start_worker(tier="flex", reasoning_effort="low", extra_body='{"top_p": 0.9, "seed": 7}')
    client.submit(ONCOLOGY, abstracts(1)).wait(timeout=60)
    own = Steering(tier=Tier.STANDARD, reasoning_effort="high", extra_body={"seed": 8})
    client.submit(ONCOLOGY, abstracts(1), steering=own).wait(timeout=60)
    told = [
        tuple(call.parameters.get(name) for name in ("service_tier", "reasoning_effort", "top_p", "seed"))
        for call in double.calls()
    ]
    assert told == [("flex", "low", 0.9, 7), ("default", "high", 0.9, 8)]


@pytest.mark.night
def test_each_stage_of_a_review_is_asked_as_its_plan_steers_it(
    client: Client, start_worker: StartWorker, double: Double
) -> None:
    start_worker(reasoning_effort="low")
    stages = (
        ReviewStage(operation=Score(criteria="How good?"), steering=FLEX),
        ReviewStage(operation=Score(criteria="How new?"), steering=Steering(reasoning_effort="high")),
    )
    review = submit_review(client, ReviewPlan(stages=stages), abstracts(1), label="r")
    wait_until(lambda: review.status().finished, within=60, what="the review is finished")
    told = [
        ("good" in call.prompt, call.parameters.get("service_tier"), call.parameters["reasoning_effort"])
        for call in double.calls()
    ]
    assert told == [(True, "flex", "low"), (False, None, "high")]
