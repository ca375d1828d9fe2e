"""`tamis demo`: a small screening of made-up citations, on a stack of its own that leaves nothing behind."""

import shutil
import tempfile
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from tamis_producer import Client
from tamis_producer.batch import Batch
from tamis_producer.cli.progress import watch
from tamis_producer.criteria_file import read_criteria
from tamis_producer.intake import read_records
from tamis_producer.settings import ProducerSettings
from tamis_schemas import Inclusion, InclusionStatus, ItemResult, SearchCriteria, Summary, TamisError
from tamis_worker.embedded.fetch_bar import fetch_with_bar
from tamis_worker.embedded.llm import MODEL_NAME
from tamis_worker.embedded.stack import Stack
from tamis_worker.settings import WorkerSettings

HERE = Path(__file__).parent
CITATIONS = HERE / "citations.ris"
CRITERIA = HERE / "criteria.yaml"
COLOURS = {InclusionStatus.INCLUDE: "green", InclusionStatus.EXCLUDE: "red", InclusionStatus.UNCERTAIN: "yellow"}
STOP_WITHIN = 2.0  # seconds: nobody misses what an interrupted demonstration would have decided


def demo(console: Console, *, workers: int = 1) -> int:
    """Screen the citations from start to end and show the decisions; the process's exit status.

    Uses the LLM that the environment names, else the small embedded one. Servers that the environment names are left
    alone: the demonstration runs on its own, in a temporary folder.
    """
    folder = Path(tempfile.mkdtemp(prefix="tamis-demo-"))
    try:
        settings = _settings(folder)
        _run(console, settings, workers)
    except KeyboardInterrupt:
        console.print("Interrupted; everything is stopped.")
        return 1
    except TamisError as error:
        console.print(f"[red]{escape(str(error))}[/]", highlight=False)
        return 1
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    console.print("Everything is stopped and the temporary folder is removed.")
    _say_what_it_is_worth(console, real=settings.names_an_llm)
    return 0


def _settings(folder: Path) -> WorkerSettings:
    own = {"home": folder, "broker_url": None, "database_url": None, "result_backend_url": None, "limiter_url": None}
    return WorkerSettings.load().model_copy(update=own)


def _run(console: Console, settings: WorkerSettings, workers: int) -> None:
    real = settings.names_an_llm
    console.print("Starting Postgres, Redis, workers and Flower in a temporary folder ...", highlight=False)
    stack = Stack(
        settings,
        workers=workers,
        llm="remote" if real else "local",
        flower_port=None,
        worker_patience=STOP_WITHIN,
        announce=lambda line: console.print(escape(line), highlight=False),
        fetch=partial(fetch_with_bar, console),
    )
    with stack:
        if stack.flower is not None:
            console.print(f"Flower shows the tasks: {escape(stack.flower.url)}", soft_wrap=True, highlight=False)
        producer = ProducerSettings(
            home=settings.home, broker_url=stack.broker_url, database_url=stack.database_url, model=stack.model
        )
        records, criteria = read_records(CITATIONS), read_criteria(CRITERIA)
        with Client(producer) as client:
            batch = client.submit(Inclusion(criteria=criteria), records, label=CITATIONS.name)
            console.print(f"{len(records)} citations submitted as batch {batch.id}.", highlight=False)
            watch(batch, console)
            _show(console, batch, criteria)


def _show(console: Console, batch: Batch, criteria: SearchCriteria) -> None:
    table = Table(header_style="bold", expand=True)
    for name, width in {"id": 7, "title": None, "status": 9, "sure": 4, "decided by": 14, "because": None}.items():
        # One line a record: what has no width of its own shares the rest, and is cut.
        table.add_column(name, no_wrap=True, overflow="ellipsis", width=width, ratio=None if width else 1)
    labels = {criterion.text: criterion.label for criterion in criteria.labelled()}
    for row in batch.results():
        table.add_row(*_row(row, labels))
    console.print(table)
    for criterion in criteria.labelled():
        console.print(f"  {criterion.label}  {escape(criterion.text)}", highlight=False)
    if (summary := batch.summary()) is not None:
        console.print(_rate(summary), highlight=False)


def _row(row: ItemResult, labels: dict[str, str]) -> list[str]:
    cells = [escape(row.item_id), escape(str(row.item.get("title", "")))]
    if row.decision is None:
        error = row.result.error if row.result is not None else None
        kind = row.error_kind.value if row.error_kind is not None else ""
        return [*cells, f"[bold red]{escape(row.status)}[/]", "", "", escape(": ".join(filter(None, (kind, error))))]
    decision = row.decision
    colour = COLOURS[decision.status]
    deciding = " ".join(labels.get(text, "?") for text in decision.criteria)
    because = escape(" ".join(decision.rationale.split()))
    return [*cells, f"[{colour}]{decision.status.value}[/]", f"{decision.confidence:.2f}", deciding, because]


def _rate(summary: Summary) -> str:
    rate = summary.pass_rate
    if rate.estimate is None or rate.low is None or rate.high is None:
        return "Nothing was decided, so there is no pass rate."
    undecided = summary.counts.n_items - rate.total
    return (
        f"[bold]Pass rate {rate.estimate:.1%}[/] ({rate.count} of {rate.total} decided; {rate.level:.0%} interval "
        f"{rate.low:.1%} to {rate.high:.1%}); {undecided} not decided."
    )


def _say_what_it_is_worth(console: Console, *, real: bool) -> None:
    if real:
        console.print("\nTo screen your own records:\n")
    else:
        console.print(
            f"\n[bold yellow]These decisions are worth nothing.[/] {MODEL_NAME} is small enough to run anywhere, "
            "and far too small to screen: it shows that every part works. To screen with a real model:\n",
            highlight=False,
        )
    console.print(
        "  export TAMIS_LLM_API_KEY=...           # your key\n"
        "  export TAMIS_MODEL=...                 # for example gpt-5-mini\n"
        "  export TAMIS_LLM_BASE_URL=https://...  # only for endpoints other than OpenAI's\n"
        "  tamis up                               # in one terminal\n"
        "  tamis screen records.ris --criteria criteria.yaml   # in another",
        highlight=False,
        markup=False,
        soft_wrap=True,
    )
