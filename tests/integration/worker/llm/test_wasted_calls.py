"""How many paid calls are wasted on an endpoint that does not follow what it takes: by real workers over one ledger."""

from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from llm_double import Double, Fault, Kind, Personality
from stage import WorkerProcess, abstracts
from tamis_producer import Client
from tamis_schemas import BatchPaused, Filter, PauseKind
from tamis_worker.llm.lesson import MAX_WASTED

QUESTION = Filter(criteria="Is it a trial?")
ITEMS = 300
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


@pytest.mark.parametrize(
    ("personalities", "options", "rung", "wasted"),
    [
        (["ignores_format"], {}, "json_object", 1),
        (["ignores_format"], {"response_formats": ["json_object"]}, "strict", 0),  # refused, at no cost
        ([Personality("ignores_format"), Personality("talks")], {}, None, MAX_WASTED),
    ],
    ids=["ignores", "refuses", "ignores and talks"],
)
def test_few_calls_are_wasted_by_all_workers_together_and_none_after_a_restart(
    client: Client,
    double: Double,
    start: Start,
    personalities: list[Personality],
    options: dict[str, object],
    rung: str | None,
    wasted: int,
) -> None:
    double.script(personalities=personalities, **options)
    workers = [start(), start()]
    batch = client.submit(QUESTION, abstracts(ITEMS))
    assert batch.wait(120).decided == ITEMS
    spent = double.count(200) - ITEMS
    assert spent <= wasted
    assert learned(client)[1]
    assert rung in (None, learned(client)[0])
    for worker in workers:
        worker.kill()
    start()
    later = client.submit(QUESTION, abstracts(50), use_cache=False)
    assert later.wait(60).decided == 50
    assert double.count(200) == ITEMS + spent + 50


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
    calls = double.count()
    assert calls <= MAX_WASTED + 20 + 1  # the answers of every rung; a call may have begun when the batch was paused
    assert batch.status().counts.failed <= 20  # an item fails after its own question and the repair
    double.script(faults=[])
    batch.resume()
    assert batch.wait(120).decided >= ITEMS - 20
    assert learned(client) == ("reminded", True)
