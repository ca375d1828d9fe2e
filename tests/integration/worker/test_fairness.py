"""Batches share workers and limit: a small one is not behind all of a large one. Counted in calls, not in time."""

from collections.abc import Callable

import pytest

from llm_double import Double
from stage import WorkerProcess, abstracts, wait_until
from tamis_producer import Client
from tamis_schemas import Filter, Priority

LARGE = Filter(criteria="Is this of the large batch?")
SMALL = Filter(criteria="Is this of the small batch?")
IN_FLIGHT = 8
SMALL_ITEMS = 20
EFFECTIVE_WITHIN = 5.0  # s, on all workers
StartWorker = Callable[..., WorkerProcess]


def calls_of_the_large_batch_meanwhile(
    client: Client, start_worker: StartWorker, double: Double, *, large: Priority, small: Priority
) -> int:
    """Of the large batch, from the small one's first call to its last; before the first it was not there to prefer."""
    double.script(latency=0.05)
    start_worker(limit_concurrency=str(IN_FLIGHT), concurrency="32")
    behind = client.submit(LARGE, abstracts(1500), priority=large)
    double.wait(calls=60, bound=60)
    batch = client.submit(SMALL, abstracts(SMALL_ITEMS), priority=small)
    assert batch.wait(timeout=60).decided == SMALL_ITEMS
    order = ["small" in call.prompt for call in double.calls()]
    behind.cancel()
    places = [place for place, is_small in enumerate(order) if is_small]
    return order[places[0] : places[-1]].count(False)


def test_a_small_batch_behind_a_large_one_takes_less_than_three_times_its_time_alone(
    client: Client, start_worker: StartWorker, double: Double
) -> None:
    meanwhile = calls_of_the_large_batch_meanwhile(
        client, start_worker, double, large=Priority.NORMAL, small=Priority.NORMAL
    )
    # Alone: 20 calls. Within three times that: 60 calls in all, so 40 of the large batch at most.
    assert meanwhile <= 2 * SMALL_ITEMS


def test_a_batch_of_high_priority_goes_before_one_of_normal_priority(
    client: Client, start_worker: StartWorker, double: Double
) -> None:
    meanwhile = calls_of_the_large_batch_meanwhile(
        client, start_worker, double, large=Priority.NORMAL, small=Priority.HIGH
    )
    # Sixteen turns to four: a quarter of 20, and what was in flight when it came.
    assert meanwhile <= SMALL_ITEMS // 4 + IN_FLIGHT


@pytest.mark.night
def test_a_batch_of_low_priority_does_not_starve(client: Client, start_worker: StartWorker, double: Double) -> None:
    meanwhile = calls_of_the_large_batch_meanwhile(
        client, start_worker, double, large=Priority.HIGH, small=Priority.LOW
    )
    # One turn to sixteen.
    assert meanwhile <= 16 * SMALL_ITEMS + 4 * IN_FLIGHT


@pytest.mark.night
def test_a_batch_whose_priority_is_raised_under_way_goes_before_the_other_within_seconds(
    client: Client, start_worker: StartWorker, double: Double
) -> None:
    double.script(latency=0.2)
    worker = start_worker(limit_concurrency=str(IN_FLIGHT), concurrency="1000")
    batches = [client.submit(one, abstracts(450), priority=Priority.LOW, window=9) for one in (LARGE, SMALL)]
    # All of it is claimed: what is raised waits for its permits in the worker already.
    wait_until(lambda: not any(batch.status().counts.pending for batch in batches), within=60, what="all is claimed")
    batches[1].set_priority(Priority.HIGH)
    told = f"batch={batches[1].id} continues with priority high"
    wait_until(lambda: told in worker.text(), within=EFFECTIVE_WITHIN, what="the worker follows the priority")
    before = double.count()
    double.wait(calls=before + 160, bound=60)
    small = sum("small" in call.prompt for call in double.calls()[before + 2 * IN_FLIGHT : before + 160])
    for batch in batches:
        batch.cancel()
    # Sixteen turns to one; at equal weights it would be half.
    assert small >= 0.8 * (160 - 2 * IN_FLIGHT)
