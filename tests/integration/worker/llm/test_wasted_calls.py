"""How many paid calls are wasted on an endpoint that does not follow what it takes: by real workers over one ledger."""

from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from llm_double import Double, Fault, Kind
from stage import WorkerProcess, abstracts
from tamis_producer import Client
from tamis_schemas import BatchPaused, Filter, PauseKind
from tamis_worker.llm.dialect import MAX_WASTED

QUESTION = Filter(criteria="Is it a trial?")
ITEMS = 100
SIZES = [(2, ITEMS), pytest.param(4, 2_000, marks=pytest.mark.night)]  # workers and items
Start = Callable[[], WorkerProcess]


@pytest.fixture
def start(tmp_path: Path, environment: dict[str, str]) -> Iterator[Start]:
    """Starts workers that know nothing of the double."""
    workers: list[WorkerProcess] = []

    def one() -> WorkerProcess:
        workers.append(WorkerProcess(tmp_path, f"worker-{len(workers)}", environment, finds_out=True))
        return workers[-1]

    yield one
    for worker in workers:
        worker.kill()


def learned(client: Client) -> tuple[str, bool]:
    """The rung of the only model, and whether it is proven."""
    with psycopg.connect(client.settings.database.replace("+psycopg", "")) as connection:
        row = connection.execute("SELECT rung, proven FROM dialects").fetchone()
    assert row is not None
    return str(row[0]), bool(row[1])


@pytest.mark.parametrize(("workers", "items"), SIZES)
@pytest.mark.parametrize(
    ("personalities", "options", "rung", "wasted"),
    [
        pytest.param(["ignores_format"], {}, "json_object", 1, marks=pytest.mark.night),
        pytest.param(  # refused, at no cost
            ["ignores_format"], {"response_formats": ["json_object"]}, "strict", 0, marks=pytest.mark.night
        ),
        pytest.param(["ignores_format", "talks"], {}, "reminded", MAX_WASTED, marks=pytest.mark.night),
    ],
    ids=["ignores", "refuses", "ignores and talks"],
)
def test_few_calls_are_wasted_by_all_workers_together_and_none_after_a_restart(
    client: Client,
    double: Double,
    start: Start,
    personalities: list[str],
    options: dict[str, object],
    rung: str,
    wasted: int,
    workers: int,
    items: int,
) -> None:
    double.script(personalities=personalities, **options)
    started = [start() for _ in range(workers)]
    batch = client.submit(QUESTION, abstracts(items))
    assert batch.wait(120).decided == items
    spent = double.count(200) - items
    assert spent <= wasted
    assert learned(client) == (rung, True)
    for worker in started:
        worker.kill()
    start()
    later = client.submit(QUESTION, abstracts(20), use_cache=False)
    assert later.wait(60).decided == 20
    assert double.count(200) == items + spent + 20


def test_a_model_that_is_of_no_use_pauses_the_batch_with_one_of_its_answers(
    client: Client, double: Double, start: Start
) -> None:
    double.script(faults=[Fault(Kind.MALFORMED, content="I would rather \x1b[31mtalk.")])
    start()
    start()
    batch = client.submit(QUESTION, abstracts(ITEMS))
    with pytest.raises(BatchPaused) as paused:
        batch.wait(120)
    pause = paused.value.pause
    assert pause.kind is PauseKind.UNUSABLE_ANSWERS
    assert pause.message is not None
    assert "20 answers of double-1 in a row" in pause.message
    assert "I would rather" in pause.message
    assert "\x1b" not in pause.message
    assert f"tamis resume {batch.id}" in pause.remedy(str(batch.id))
    # The answers of every rung; and the other worker hears of the pause within a second, or after as many of its own.
    assert double.count() <= MAX_WASTED + 2 * 20 + 1
    assert batch.status().counts.failed <= 20  # an item fails after its own question and the repair
    double.script(faults=[])
    batch.resume()
    assert batch.wait(120).decided >= ITEMS - 20
    assert learned(client) == ("reminded", True)
