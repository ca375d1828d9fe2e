"""Redis holds a window of a batch, never the batch: its memory does not grow with the number of items."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
import redis

from llm_double import Double
from stage import WorkerProcess, abstracts
from tamis_producer import Client, ProducerSettings
from tamis_schemas import Filter

SAMPLE_EVERY = 0.05  # s


class Peak:
    """The most memory that Redis used while it was watched."""

    used = 0


@contextmanager
def watched(url: str) -> Iterator[Peak]:
    peak, done = Peak(), threading.Event()

    def look() -> None:
        with redis.Redis.from_url(url) as client:
            while not done.wait(SAMPLE_EVERY):
                peak.used = max(peak.used, client.info("memory")["used_memory"])

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield peak
    finally:
        done.set()
        thread.join()


# A window is 100 items: the fewest fill it once or twice, the most ten times as often. The long form shows smaller
# leaks: of 150 bytes an item, where the short one shows those of 300.
@pytest.mark.night
@pytest.mark.parametrize("fewest", [100, pytest.param(200, marks=pytest.mark.night)])
def test_ten_times_the_items_take_no_more_redis_memory(
    database_url: str, broker_url: str, start_worker: Callable[..., WorkerProcess], double: Double, fewest: int
) -> None:
    double.script(remember=False)
    for _ in range(2):
        start_worker()
    settings = ProducerSettings(broker_url=broker_url, database_url=database_url, shard_size=50, shard_window=2)
    peaks = []
    with Client(settings) as client:
        for n in (fewest, 10 * fewest):
            with watched(broker_url) as peak:
                question = Filter(criteria="Is it?", include_reasoning=False)
                batch = client.submit(question, abstracts(n), use_cache=False)
                counts = batch.wait(timeout=240)
            assert counts.decided == n
            assert len(list(batch.results())) == n
            peaks.append(peak.used)
    assert double.count() == 11 * fewest
    assert peaks[1] <= 1.1 * peaks[0], f"peaks in bytes: {peaks}"
