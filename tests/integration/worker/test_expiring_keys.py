"""A batch over keys that expire: it completes, no call is wasted, nothing is paused, and no key is said anywhere."""

import shlex
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import text

from llm_double import Double, Personality
from stage import WorkerProcess, abstracts, wait_until
from tamis_producer import Batch, Client
from tamis_schemas import BatchStatus, Filter

KEYS = tuple(f"key-that-expires-{n}-Zq7Vx3" for n in range(4))
QUESTION = Filter(criteria="Is it a trial?")


def assert_done(batch: Batch, double: Double, items: int) -> None:
    counts = batch.wait(120)
    assert (counts.decided, counts.failed) == (items, 0)
    assert batch.status().state is BatchStatus.COMPLETED
    assert double.count(200) == items
    assert {row.provenance.calls for row in batch.results() if row.provenance} == {1}


def assert_never_paused(client: Client, worker: WorkerProcess) -> None:
    with client.engine.connect() as connection:
        assert connection.execute(text("SELECT count(*) FROM batches WHERE pause IS NOT NULL")).scalar_one() == 0
    log = worker.text()
    assert log.count("a new API key is in use") >= 2
    assert "Zq7Vx3" not in log


@pytest.fixture
def keyless(environment: dict[str, str]) -> dict[str, str]:
    """Without a key of its own."""
    environment["TAMIS_LLM_API_KEY"] = ""
    return environment


@pytest.mark.night
def test_a_file_that_is_rewritten_before_the_key_in_it_is_over(
    keyless: dict[str, str], start_worker: Callable[..., WorkerProcess], client: Client, double: Double, tmp_path: Path
) -> None:
    # 80 calls a second, 200 with each key. The second key is there after 100 calls and taken up by the 201st at the
    # latest, so it lasts to the 300th at least; the third one is there after 220, and lasts to the 420th.
    double.script(latency=0.4, personalities=[Personality("expiring_key", after_calls=200)])
    path = tmp_path / "key"
    path.write_text(KEYS[0])
    worker = start_worker(llm_api_key_file=str(path), concurrency="32")
    batch = client.submit(QUESTION, abstracts(400))
    for calls, key in ((100, KEYS[1]), (220, KEYS[2])):
        double.wait(calls=calls, bound=60)
        path.write_text(f"{key}\n")
    assert_done(batch, double, 400)
    assert_never_paused(client, worker)


@pytest.mark.night
@pytest.mark.parametrize(("items", "each"), [(250, 100), (2_000, 700)])
def test_a_command_that_prints_a_new_key_where_the_old_one_is_refused(
    keyless: dict[str, str],
    start_worker: Callable[..., WorkerProcess],
    client: Client,
    double: Double,
    items: int,
    each: int,
) -> None:
    # One key is valid at a time: each time one is used up, twice in all, all the calls in flight are refused.
    double.script(latency=0.1, personalities=[Personality("expiring_key", after_calls=each, keys=KEYS)])
    url = f"{double.base_url.removesuffix('/v1')}/double/key"
    program = f"import json, urllib.request as u; print(json.load(u.urlopen({url!r}))['key'])"
    command = shlex.join([sys.executable, "-c", program])
    worker = start_worker(llm_api_key_command=command, concurrency="32")
    batch = client.submit(QUESTION, abstracts(items))
    assert_done(batch, double, items)
    assert 2 <= double.count(401) <= 64
    assert_never_paused(client, worker)


def test_a_key_that_cannot_be_renewed_pauses_the_batch_as_before(
    keyless: dict[str, str], start_worker: Callable[..., WorkerProcess], client: Client, double: Double
) -> None:
    double.script(personalities=[Personality("expiring_key", keys=KEYS)])
    start_worker(llm_api_key_command=shlex.join([sys.executable, "-c", "print('key-of-nobody')"]))
    batch = client.submit(QUESTION, abstracts(5))
    wait_until(lambda: batch.status().state is BatchStatus.PAUSED, within=60, what="the batch is paused")
    assert 3 <= double.count() == double.count(401) <= 6
