"""`tamis demo`: screens a few made-up citations on servers in a temporary folder."""

import os
import shutil
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeAlias

from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from tamis_producer import Batch, Client, ProducerSettings
from tamis_producer.results.results_file import replacing
from tamis_review.example import CITATIONS, CRITERIA
from tamis_review.filter.identification import identify
from tamis_review.plans.criteria_file import read_criteria
from tamis_review.report import ReportForm, write_report
from tamis_review.report.flow_template import flow_lines
from tamis_review.report.reading import find_subject, read_figures, snapshot
from tamis_schemas import Criterion, Inclusion, InclusionStatus, ItemResult, SearchCriteria, TamisError
from tamis_worker.config.settings import WorkerSettings

from ..embedded.commands import flower_place, page_place
from ..embedded.endpoint import MODEL_NAME
from ..embedded.model import fetch_with_bar
from ..embedded.stack import LlmChoice, Stack
from .progress import watch
from .render import percent

Model: TypeAlias = Literal["recorded", "small", "own"]
Row: TypeAlias = ItemResult[Any]

LLMS: dict[Model, LlmChoice] = {"recorded": "recorded", "small": "local", "own": "remote"}
MOST = 2  # records shown per group ...
MOST_INCLUDED = 8  # ... and of the included, the most interesting group
STOP_WITHIN = 2.0  # seconds for open calls when the demonstration stops; nothing needs their answers

WORTH = {
    "recorded": "[yellow]The answers are recorded: written by hand, and no model is asked.[/] All else is real.",
    "small": f"[yellow]{MODEL_NAME} is too small for screening: ignore its decisions.[/] All else is real.",
    "own": "The LLM is the one set in your environment.",
}
NEXT = """\
To screen your own records with a real model:
{path}
  export TAMIS_LLM_API_KEY=...           # your key
  export TAMIS_MODEL=...                 # for example gpt-5-mini
  export TAMIS_LLM_BASE_URL=https://...  # only for endpoints other than OpenAI's
  tamis up                               # in one terminal
  tamis criteria init                    # a template of criteria.yaml
  tamis screen records.ris --criteria criteria.yaml   # in another"""


def demo(console: Console, *, model: Model = "recorded", report: Path | None = None) -> int:
    """Screen the example's citations, show the decisions, and return the process's exit status.

    The demo runs its own servers in a temporary folder. `model`: use `recorded` answers, the `small` model that the
    demo runs itself, or your `own` model, set in the environment. `report`: a file for an HTML report, if you want one.
    """
    try:
        with (
            tempfile.TemporaryDirectory(prefix="tamis-demo-", ignore_cleanup_errors=True) as folder,
            _unset() if model == "recorded" else nullcontext(),
        ):
            _run(console, Path(folder), model, report)
    except KeyboardInterrupt:
        console.print("Interrupted. Everything is stopped.")
        return 1
    except TamisError as error:
        console.print(f"[red]{escape(str(error))}[/]")
        return 1
    console.print("Everything is stopped, and the temporary folder is removed.")
    return 0


@contextmanager
def _unset() -> Iterator[None]:
    """Remove the environment variables of Tamis and OpenAI inside `with`: the demo must not use them or cost money."""
    taken = {name: text for name, text in os.environ.items() if name.startswith(("TAMIS_", "OPENAI_"))}
    for name in taken:
        del os.environ[name]
    try:
        yield
    finally:
        os.environ.update(taken)


def _run(console: Console, folder: Path, model: Model, report: Path | None) -> None:
    progress = console.status("starting")
    unset = {"home": folder, "broker_url": None, "database_url": None, "result_backend_url": None, "limiter_url": None}
    stack = Stack(
        WorkerSettings.load().model_copy(update=unset),
        workers=1,
        llm=LLMS[model],
        page=True,
        usual_ports=False,
        worker_patience=STOP_WITHIN,
        announce=lambda line: console.print(escape(line)),
        starting=lambda name: progress.update(f"starting {name}"),
        fetch=partial(fetch_with_bar, console),
    )
    console.print(WORTH[model])
    console.print("Starting Postgres, Redis, a worker, Flower and the page in a temporary folder ...")
    with progress, stack:
        progress.stop()
        settings = ProducerSettings(
            home=folder, broker_url=stack.broker_url, database_url=stack.database_url, model=stack.model
        )
        criteria = read_criteria(CRITERIA)
        with Client(settings) as client:
            batch = _submitted(client, criteria, console)
            watch(batch, console)
            if model == "recorded":  # other models take time, and perhaps money
                _retry(batch, console)
            _show(client, batch, criteria, console)
            if report is not None:
                with replacing(report) as stream:
                    write_report(client.engine, batch.id, ReportForm.HTML, stream)
                console.print(f"The report is in {escape(str(report))}.")
        # The line `export` lets the shell find `tamis`, if the shell does not find it already.
        path = f'\n  export PATH="{Path(sys.executable).parent}:$PATH"' if shutil.which("tamis") is None else ""
        console.print(NEXT.format(path=path), markup=False)
        if console.is_terminal and sys.stdin.isatty():
            _stay(stack, console)
        else:
            console.print("\nOn a terminal, the servers and a web page stay up until you press Enter.")


def _submitted(client: Client, criteria: SearchCriteria, console: Console) -> Batch:
    identified = identify(CITATIONS, initial_filter=criteria)
    console.print(
        f"Screening {len(identified.records)} fictional citations against {len(criteria.labelled())} criteria. The "
        f"initial filter rejects {identified.rejected} by rules, and passes {len(identified.asked)} to the LLM."
    )
    return client.submit(
        Inclusion(criteria=criteria),
        identified.records,
        label=CITATIONS.name,
        exclusions=identified.exclusions,
        source=identified.sources,
    )


def _retry(batch: Batch, console: Console) -> None:
    """Show the failed records, and retry them once."""
    rows = [row for row in batch.results() if row.error_kind is not None]
    if not rows:
        return
    print_failed(rows, console)
    console.print(f"Asking again about {'this record' if len(rows) == 1 else f'these {len(rows)}'} only (tamis retry):")
    places = [row.index for row in rows]
    batch.retry()
    watch(batch, console)
    for row in batch.results(places):
        if row.decision is not None:
            console.print(f"  {escape(row.item_id)} is decided in round 2: {row.decision.status.value}")
    console.print()


def _show(client: Client, batch: Batch, criteria: SearchCriteria, console: Console) -> None:
    print_decisions(list(batch.results()), criteria.labelled(), console)
    with snapshot(client.engine) as connection:
        figures = read_figures(connection, find_subject(connection, batch.id))
    console.print("\n[bold]Flow of records (PRISMA 2020)[/]")
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column()
    table.add_column(justify="right")
    for line in flow_lines(figures.flow):
        lead, style = (("", "bold"), ("  \u2192 ", ""), ("      ", "dim"))[line.depth]
        table.add_row(f"{lead}{escape(line.text)}", str(line.n), style=style)
    console.print(table)
    console.print(f"Pass rate: {percent(figures.screening.pass_rate)}\n")


def _stay(stack: Stack, console: Console) -> None:
    """Show the addresses, and wait for Enter or Ctrl-C while the stack runs."""
    if stack.gateway is not None:
        console.print(f"\n[bold]Page[/]    {escape(page_place(stack.gateway, stack, console))}")
    if stack.flower is not None:
        console.print(f"[bold]Flower[/]  {escape(flower_place(stack.flower, stack, console))}")
    console.print("[bold]Both stay up: press Enter to stop everything.[/]")
    try:
        sys.stdin.readline()
    except KeyboardInterrupt:
        console.print()


def print_decisions(rows: Sequence[Row], criteria: Sequence[Criterion], console: Console) -> None:
    """Print included, excluded, uncertain and failed records, each group with its size."""
    by_status: defaultdict[InclusionStatus, list[Row]] = defaultdict(list)
    for row in rows:
        if row.decision is not None:
            by_status[row.decision.status].append(row)
    if included := by_status[InclusionStatus.INCLUDE]:
        console.print(f"[green]Included: {len(included)}[/]")
        _print_group(console, included, most=MOST_INCLUDED)
    if excluded := by_status[InclusionStatus.EXCLUDE]:
        console.print(f"\n[red]Excluded by a criterion: {len(excluded)}[/], with quotes from the record")
        for label, group in _by_criterion(excluded, criteria).items():
            reason = escape(group[0].exclusion_reason or "")
            console.print(Padding(f"{len(group)} by criterion [bold]{label}[/] ({reason})", (0, 0, 0, 2)))
            _print_group(console, group, partial(_quote, label=label), indent=4)
    if rejected := [row for row in rows if row.exclusion is not None]:
        console.print(f"\n[red]Excluded by the initial filter: {len(rejected)}[/], by rules, without a model")
        _print_group(console, rejected, lambda row: Text(row.exclusion.reason if row.exclusion else "", "dim"))
    if uncertain := by_status[InclusionStatus.UNCERTAIN]:
        console.print(f"\n[yellow]Uncertain: {len(uncertain)}[/], for a person to decide")
        _print_group(console, uncertain, _why_uncertain)
    print_failed(rows, console)


def print_failed(rows: Sequence[Row], console: Console) -> None:
    """Print the failed records, which have no answer, each with its error."""
    if failed := [row for row in rows if row.error_kind is not None]:
        console.print(f"\n[bold red]Failed: {len(failed)}[/]. A failed call is never a decision.")
        _print_group(console, failed, lambda row: Text(f"{row.error_kind}: {row.error}", "dim"))


def _print_group(
    console: Console,
    rows: Sequence[Row],
    reason_of: Callable[[Row], Text] | None = None,
    *,
    most: int = MOST,
    indent: int = 2,
) -> None:
    """Print the first `most` records of a group.

    Each record has a line with its id and title. If `reason_of` is given, its text follows on the next line.
    """
    table = Table.grid(padding=(0, 1, 0, 0))
    table.add_column(no_wrap=True, style="dim")
    table.add_column()
    for row in rows[:most]:
        title = Text(str(row.item.get("title", "")), no_wrap=True, overflow="ellipsis")
        table.add_row(f"{' ' * indent}{escape(row.item_id)}", title)
        if reason_of is not None:
            table.add_row("", reason_of(row))
    console.print(table)
    if len(rows) > most:
        console.print(f"{' ' * indent}[dim]and {len(rows) - most} more[/]")


def _by_criterion(rows: Sequence[Row], criteria: Sequence[Criterion]) -> dict[str, list[Row]]:
    """Return the excluded records, grouped by the label of the criterion that excluded them, largest group first."""
    label_of = {criterion.text: criterion.label for criterion in criteria}
    groups: defaultdict[str, list[Row]] = defaultdict(list)
    for row in rows:
        if row.decision is not None:
            groups[label_of[row.decision.criteria[0]]].append(row)
    return dict(sorted(groups.items(), key=lambda group: -len(group[1])))


def _quote(row: Row, label: str) -> Text:
    """Return the quote from the record for the verdict on the criterion `label`, or a text that there is no quote."""
    quote = None if row.decision is None else row.decision.verdicts[label].quote
    if quote is None:
        return Text("no quote: the record does not mention it", "dim")
    place = f"{quote.state.value} in the {quote.field or 'record'}"
    return Text.assemble((f"\u201c{quote.text}\u201d", "italic"), (f" {place}", "dim"))


def _why_uncertain(row: Row) -> Text:
    decision = row.decision
    return Text("" if decision is None else decision.uncertain_reason or decision.rationale, "dim")
