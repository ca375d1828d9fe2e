"""Any endpoint and any model: each personality asked by every operation, through a real worker and the real client."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest
from sqlalchemy import select

from llm_double import Call, Double
from nursery import shared
from stage import WorkerProcess, observed_endpoints
from stage.endpoint_table import BEGINS, ENDS, ITEMS, OPERATIONS, QUESTIONS, ROWS, Cell, Row, items_of, table
from stage.ledgers import Ledgers
from stage.observed_endpoints import END_OF, OBSERVED, calls_at_most, end_of, items_for
from tamis_cli.embedded.valkey import Valkey
from tamis_producer import Batch, Client, ProducerSettings
from tamis_producer.config.settings import next_database
from tamis_schemas import BatchPaused, Counts, PauseKind
from tamis_schemas.ledger import dialects
from tamis_worker.llm.chat import Rung

TABLE = Path(__file__).with_name("endpoints.md")
DOCUMENT = Path(__file__).parents[2] / "docs" / "endpoints.md"  # it sums the table up
SUMMARY = "\n## Endpoints with odd habits\n"
WASTED_AT_MOST = 3  # calls of an endpoint and a model, in all
UNPAID = (400, 422, 501)  # refusals
DONE_WITHIN = 800.0  # s; at night a model runs beside it, on the same cores
DATABASE = 6  # of the broker: the worker lives beside those of other tests

Found = Mapping[str, Mapping[str, Cell]]

pytestmark = pytest.mark.timeout(1_000)


EVERYTHING = (*ROWS, *OBSERVED)
# Each personality by one operation, and each operation by many personalities; all pairs take many times as long.
SOME = {row.what: [name for n, name in enumerate(OPERATIONS) if (n - at) % 7 == 0] for at, row in enumerate(ROWS)}
SHORT = {row.what for group in observed_endpoints.GROUPS for row in group.rows[::6]}  # the others at night
SOME |= {
    row.what: [("filter", "inclusion")[at % 2]] if row.what in SHORT else []  # they ask for `logprobs`
    for at, row in enumerate(OBSERVED)
}
SHOWN = [pytest.param(row, marks=() if row.what in SHORT else pytest.mark.night, id=row.what) for row in OBSERVED]
ALL = {row.what: list(OPERATIONS) for row in EVERYTHING}


@pytest.fixture(scope="module", params=[SOME, pytest.param(ALL, marks=pytest.mark.night)], ids=["some", "all"])
def found(
    request: pytest.FixtureRequest,
    ledgers: Ledgers,
    valkey: Valkey,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Found]:
    """What became of personalities and operations; each pair is a model of its own, and all are asked at once."""
    asked: Mapping[str, Sequence[str]] = request.param
    broker_url = next_database(valkey.url, DATABASE)
    folder = tmp_path_factory.mktemp("endpoints")
    everything = [one for row in EVERYTHING for name in asked[row.what] for one in row.of(_model(row, name))]
    with (
        ledgers.lend() as database_url,  # of its own: answers and what was learned of models are kept there
        Double.start(personalities=everything, nursery=shared()) as double,
        Client(ProducerSettings(broker_url=broker_url, database_url=database_url)) as client,
    ):
        settings = client.settings
        environment = {
            "TAMIS_BROKER_URL": settings.broker,
            "TAMIS_DATABASE_URL": settings.database,
            "TAMIS_LLM_BASE_URL": double.base_url,
            "TAMIS_LLM_API_KEY": "sk-test-of-the-double",
            "TAMIS_MODEL": "double-1",
            "TAMIS_CONCURRENCY": "200",
        }
        worker = WorkerProcess(folder, "worker", environment)
        try:
            batches = {
                (row.what, name): client.submit(OPERATIONS[name], items_of(name, _items(row)), model=_model(row, name))
                for row in EVERYTHING
                for name in asked[row.what]
            }
            ends = {place: _end(batch) for place, batch in batches.items()}
            with client.engine.connect() as connection:
                rungs = {row.model: row.rung for row in connection.execute(select(dialects.c.model, dialects.c.rung))}
            calls: dict[str, list[Call]] = {}
            for call in double.calls():
                calls.setdefault(call.model, []).append(call)
            yield {
                row.what: {
                    name: _cell(
                        name,
                        batches[row.what, name],
                        calls[_model(row, name)],
                        rungs.get(_model(row, name), Rung.STRICT),
                        ends[row.what, name],
                    )
                    for name in asked[row.what]
                }
                for row in EVERYTHING
            }
        finally:
            worker.kill()


CAN = [row.what for row in ROWS if row.answers]
CANNOT = [row.what for row in ROWS if not row.answers]


@pytest.mark.parametrize("what", CAN)
def test_whatever_can_answer_at_all_decides_every_item(found: Found, what: str) -> None:
    assert {name: (cell.decided, cell.failed) for name, cell in found[what].items()} == dict.fromkeys(
        found[what], (ITEMS, 0)
    )


@pytest.mark.parametrize("what", CAN)
def test_three_calls_are_wasted_at_most_on_an_endpoint_and_a_model(found: Found, what: str) -> None:
    wasted = {name: cell.wasted for name, cell in found[what].items()}
    assert max(wasted.values()) <= WASTED_AT_MOST, wasted


@pytest.mark.parametrize("what", CANNOT)
def test_a_model_that_cannot_be_asked_in_any_way_pauses_its_batch(found: Found, what: str) -> None:
    for name, cell in found[what].items():
        assert cell.hopeless, name
        assert cell.decided == 0, name


@pytest.mark.parametrize("row", SHOWN)
def test_an_observed_endpoint_costs_its_own_records_only_or_pauses_the_batch(found: Found, row: Row) -> None:
    ends = {name: end_of(cell, items_for(row)) for name, cell in found[row.what].items()}
    assert ends == dict.fromkeys(ends, str(END_OF[row.what]))


@pytest.mark.parametrize("row", SHOWN)
def test_an_observed_endpoint_gets_few_calls(found: Found, row: Row) -> None:
    for name, cell in found[row.what].items():
        assert cell.sent <= calls_at_most(row, QUESTIONS.get(name, 1)), name


def test_the_recorded_tables_of_observed_endpoints_are_what_was_found(found: Found) -> None:
    before, _, rest = TABLE.read_text("utf-8").partition(observed_endpoints.BEGINS)
    recorded, _, after = rest.partition(observed_endpoints.ENDS)
    present = observed_endpoints.tables(found)
    if os.environ.get("WRITE_DOCS"):
        recorded = present
        TABLE.write_text(f"{before}{observed_endpoints.BEGINS}{recorded}{observed_endpoints.ENDS}{after}", "utf-8")
    assert recorded == present, "WRITE_DOCS=1 writes the tables"


def test_the_document_sums_up_the_recorded_tables_of_observed_endpoints() -> None:
    recorded = TABLE.read_text("utf-8").partition(observed_endpoints.BEGINS)[2].partition(observed_endpoints.ENDS)[0]
    groups = {
        (group.partition("\n")[0], end)
        for group in recorded.split("\n## ")[1:]
        for end in re.findall(r"^\| [^|]+ \| [^|]* \| ([^|]+) \|$", group, re.MULTILINE)[1:]
    }
    assert {(group.what, str(group.end)) for group in observed_endpoints.GROUPS} == groups
    section = DOCUMENT.read_text("utf-8").partition(SUMMARY)[2].partition("\n## ")[0]
    assert {*re.findall(r"^\| ([^|]+) \| ([^|]+) \|$", section, re.MULTILINE)[1:]} == groups


def test_the_recorded_table_is_what_was_found(found: Found) -> None:
    told = TABLE.read_text("utf-8")
    before, _, rest = told.partition(BEGINS)
    documented, _, after = rest.partition(ENDS)
    cells = {row.what: found[row.what] for row in ROWS}
    whole = all(len(of_row) == len(OPERATIONS) for of_row in cells.values())
    if whole and os.environ.get("WRITE_DOCS"):
        documented = table(cells)
        TABLE.write_text(f"{before}{BEGINS}{documented}{ENDS}{after}", "utf-8")
    written, here = cells_of(documented), cells_of(table(cells))
    assert list(written) == list(here)
    for place, cell in here.items():
        assert cell in ("", written[place]), f"{place}: WRITE_DOCS=1 writes the table anew, with -m night"


def test_the_document_names_every_rung_of_the_recorded_table_with_its_wasted_calls() -> None:
    recorded = TABLE.read_text("utf-8").partition(BEGINS)[2].partition(ENDS)[0]
    rungs = dict(re.findall(r"^\| (.*?) \| `(\w+)` \| ", recorded, re.MULTILINE))
    ends = {(rungs[what], cell.rpartition(", ")[2]) for (what, _), cell in cells_of(recorded).items()}
    row = r"^\| .* \| `(\w+)` \| (\d|paused after \d+) \|$"
    assert set(re.findall(row, DOCUMENT.read_text("utf-8"), re.MULTILINE)) == ends


def cells_of(written: str) -> dict[tuple[str, str], str]:
    """The cells of a table by personality and operation; "" where it was not asked."""
    lines = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in written.splitlines()]
    names = lines[0][2:]
    return {(row[0], name): cell for row in lines[2:] for name, cell in zip(names, row[2:], strict=True)}


def _model(row: Row, operation: str) -> str:
    return f"{EVERYTHING.index(row)}-{operation}"


def _items(row: Row) -> int:
    if row.what in END_OF:
        return items_for(row)
    return ITEMS if row.answers else 30


def _end(batch: Batch) -> tuple[Counts, PauseKind | None]:
    try:
        return batch.wait(DONE_WITHIN), None
    except BatchPaused as stopped:
        return batch.status().counts, stopped.pause.kind


def _cell(name: str, batch: Batch, calls: list[Call], rung: str, end: tuple[Counts, PauseKind | None]) -> Cell:
    counts, pause = end
    rows = batch.results() if counts.failed else ()
    failures = {row.index: row.error_kind for row in rows if row.error_kind is not None}
    answered = [call for call in calls if call.status not in UNPAID]
    used = counts.decided * QUESTIONS.get(name, 1)
    return Cell(
        _asked_on(answered[-1], rung) if answered else rung,
        counts.decided,
        counts.failed,
        len(answered),
        len(answered) - used,
        len(calls),
        pause,
        failures,
    )


def _asked_on(call: Call, learned: str) -> str:
    """The rung of a call: the one that answers have taught, or the one below it that refusals led to."""
    match (call.response_format or {}).get("type"):
        case "json_schema":
            return learned
        case "json_object":
            return Rung.JSON_OBJECT
        case _:
            return learned if learned == Rung.REMINDED else Rung.TEXT
