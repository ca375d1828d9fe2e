"""`tamis demo`: a small screening of made-up citations, on a stack of its own that leaves nothing behind."""

import shutil
import tempfile
import textwrap
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from tamis_producer import Client
from tamis_producer.client.batch import Batch
from tamis_producer.config.settings import ProducerSettings
from tamis_producer.example import CITATIONS, CRITERIA
from tamis_producer.files.criteria_file import read_criteria
from tamis_producer.intake.results_file import replacing
from tamis_producer.report import ReportForm, write_report
from tamis_producer.screening.identification import identify
from tamis_schemas import Inclusion, InclusionStatus, ItemResult, SearchCriteria, TamisError

from ..config.settings import WorkerSettings
from ..embedded.fetch_bar import fetch_with_bar
from ..embedded.llm import MODEL_NAME
from ..embedded.stack import Stack
from .progress import watch
from .render import print_summary

COLOURS = {InclusionStatus.INCLUDE: "green", InclusionStatus.EXCLUDE: "red", InclusionStatus.UNCERTAIN: "yellow"}
REASON_WIDTH = 120  # characters of a reason that the table shows
STOP_WITHIN = 2.0  # seconds: nobody misses what an interrupted demonstration would have decided


def demo(console: Console, *, workers: int = 1, report: Path | None = None) -> int:
    """Screen the citations from start to end and show the decisions; the process's exit status.

    `report`: where its report is kept, as HTML; None: nowhere. Uses the LLM that the environment names, else the small
    embedded one. Servers that the environment names are left alone: the demonstration runs on its own, in a temporary
    folder.
    """
    folder = Path(tempfile.mkdtemp(prefix="tamis-demo-"))
    try:
        settings = _settings(folder)
        _run(console, settings, workers, report)
    except KeyboardInterrupt:
        console.print("Interrupted; everything is stopped.")
        return 1
    except TamisError as error:
        console.print(f"[red]{escape(str(error))}[/]")
        return 1
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    console.print("Everything is stopped and the temporary folder is removed.")
    _say_what_it_is_worth(console, real=settings.names_an_llm)
    return 0


def _settings(folder: Path) -> WorkerSettings:
    own = {"home": folder, "broker_url": None, "database_url": None, "result_backend_url": None, "limiter_url": None}
    return WorkerSettings.load().model_copy(update=own)


def _run(console: Console, settings: WorkerSettings, workers: int, report: Path | None) -> None:
    real = settings.names_an_llm
    console.print("Starting Postgres, Redis, workers and Flower in a temporary folder ...")
    stack = Stack(
        settings,
        workers=workers,
        llm="remote" if real else "local",
        flower_port=None,
        worker_patience=STOP_WITHIN,
        announce=lambda line: console.print(escape(line)),
        fetch=partial(fetch_with_bar, console),
    )
    with stack:
        if stack.flower is not None:
            console.print(f"Flower shows the tasks: {escape(stack.flower.url)}", soft_wrap=True)
        producer = ProducerSettings(
            home=settings.home, broker_url=stack.broker_url, database_url=stack.database_url, model=stack.model
        )
        criteria = read_criteria(CRITERIA)
        identified = identify(CITATIONS, initial_filter=criteria)
        with Client(producer) as client:
            batch = client.submit(
                Inclusion(criteria=criteria),
                identified.records,
                label=CITATIONS.name,
                exclusions=identified.exclusions,
                source=identified.sources,
            )
            console.print(
                f"{len(identified.records)} citations submitted as batch {batch.id}; the initial filter rejects "
                f"{identified.rejected} of them by rules alone."
            )
            watch(batch, console)
            _show(console, batch, criteria)
            if report is not None:
                with replacing(report) as stream:
                    write_report(client.engine, batch.id, ReportForm.HTML, stream)
                console.print(f"The report of it is {escape(str(report))}.", soft_wrap=True)


def _show(console: Console, batch: Batch, criteria: SearchCriteria) -> None:
    table = Table(header_style="bold", expand=True, show_lines=True)
    table.add_column("citation", ratio=5)
    table.add_column("decision", width=16)
    table.add_column("because", ratio=6)
    labels = {criterion.text: criterion.label for criterion in criteria.labelled()}
    for row in batch.results():
        table.add_row(f"[dim]{escape(row.item_id)}[/] {escape(str(row.item.get('title', '')))}", *_cells(row, labels))
    console.print(table)
    for criterion in criteria.labelled():
        console.print(f"  {criterion.label}  {escape(criterion.text)}")
    console.print()
    if (summary := batch.summary()) is not None:
        print_summary(summary, console)


def _cells(row: ItemResult, labels: dict[str, str]) -> list[str]:
    """Decision and reason; of a failed item the kind of error and what happened."""
    if row.exclusion is not None:
        return ["[red]exclude[/]\ninitial filter", escape(row.exclusion.reason)]
    if row.decision is None:
        error = row.result.error if row.result is not None else None
        kind = row.error_kind.value if row.error_kind is not None else ""
        return [f"[bold red]{escape(row.status)}[/]", escape(": ".join(filter(None, (kind, error))))]
    decision = row.decision
    deciding = " ".join(labels.get(text, "?") for text in decision.criteria)
    status = f"[{COLOURS[decision.status]}]{decision.status.value}[/] {decision.confidence:.2f}"
    quotes = [verdict.quote for verdict in decision.verdicts.values() if verdict.quote is not None]
    states = dict.fromkeys(quote.state.value for quote in quotes if not quote.found)
    flag = f"[yellow]quote {' and '.join(states)}[/]" if states else ""
    reason = textwrap.shorten(decision.rationale, REASON_WIDTH, placeholder=" ...")
    outcome = escape(decision.exclusion_reason or decision.uncertain_reason or "")
    because = filter(None, (outcome, f"[dim]{escape(reason)}[/]"))
    return ["\n".join(filter(None, (status, deciding, flag))), "\n".join(because)]


def _say_what_it_is_worth(console: Console, *, real: bool) -> None:
    if real:
        console.print("\nTo screen your own records:\n")
    else:
        console.print(
            f"\n[bold yellow]These decisions are worth nothing.[/] {MODEL_NAME} is small enough to run anywhere, "
            "and far too small to screen: it shows that every part works. To screen with a real model:\n"
        )
    console.print(
        "  export TAMIS_LLM_API_KEY=...           # your key\n"
        "  export TAMIS_MODEL=...                 # for example gpt-5-mini\n"
        "  export TAMIS_LLM_BASE_URL=https://...  # only for endpoints other than OpenAI's\n"
        "  tamis up                               # in one terminal\n"
        "  tamis criteria init                    # a template of criteria.yaml\n"
        "  tamis screen records.ris --criteria criteria.yaml   # in another",
        markup=False,
        soft_wrap=True,
    )
