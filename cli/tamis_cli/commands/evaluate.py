"""`tamis evaluate` and `tamis calibrate`: the quality of a batch's decisions, measured against a human's labels."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from tamis_producer import BatchView
from tamis_producer.results.results_file import replacing
from tamis_review import evaluation
from tamis_review.decisions.sheets import write_kept
from tamis_review.quality import words
from tamis_review.quality.gold_evaluation import GoldEvaluation
from tamis_review.quality.matching import Matching
from tamis_review.quality.panel_figures import PanelFigures
from tamis_review.quality.pilot import Calibrated
from tamis_review.quality.sampling import Sampling
from tamis_review.report.charts import draw_reliability
from tamis_review.report.gold_page import write_gold_page
from tamis_review.report.sections import MEMBERS, PAIRS, panel_part
from tamis_schemas import InvalidRequest
from tamis_schemas.values.printable import STANDARD_OUTPUT

from .app import EXIT_FAILED, app, err, out
from .arguments import BatchId, to_file
from .connected import connected
from .json_document import AsJson, print_json
from .tables import counted, facts_by_name, listing

LISTED = 20  # excluded records that the human included, printed on the terminal

Labels = Annotated[
    Path,
    typer.Option(help="The screened file with a column of labels, or a CSV of ids and labels."),
]
LabelColumn = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="The column with 1 for included, 0 for excluded.  [default: label, include, included or decision]",
    ),
]


@app.command(
    examples=(
        "tamis evaluate 3f2a91c0 --labels labels.csv",
        "tamis evaluate 3f2a91c0 --labels labels.csv -o gold.html",
    ),
)
def evaluate(
    batch_id: BatchId,
    labels: Labels,
    label_column: LabelColumn = None,
    output: Annotated[Path | None, to_file("A page (.html), or only the reliability curve (.svg).")] = None,
) -> Iterator[object]:
    """Compare a batch's decisions with human labels: rates, lost evidence, calibration, agreement."""
    if output not in {None, STANDARD_OUTPUT} and output.suffix.lower() not in {".html", ".htm", ".svg"}:
        raise InvalidRequest(f"{output}: an evaluation is written as .html or .svg; --json prints all figures")
    with connected() as client:
        batch = client.batch(batch_id)
        view = batch.status()
        result = evaluation.evaluate(batch, labels, label_column)
    if output is not None:
        with replacing(output) as stream:
            if output.suffix.lower() == ".svg":
                stream.write(draw_reliability(result.reliability))
            else:
                write_gold_page(
                    result,
                    stream,
                    name=view.label or f"batch {view.id[:8]}",
                    batch_id=view.id,
                    labels=labels.name,
                    written=datetime.now(UTC),
                )
        err.print(f"evaluation of batch {view.id} written to {output}", markup=False)
    yield {"batch": view.id, "finished": view.finished, "labels": str(labels), **result.model_dump(mode="json")}
    _print(result, view)


@app.command(examples=("tamis calibrate 3f2a91c0 --labels pilot.csv --recall 0.95 -o kept.csv",))
def calibrate(
    batch_id: BatchId,
    labels: Labels,
    recall: Annotated[float, typer.Option(help="The share of includes to keep.")] = 0.95,
    delta: Annotated[float, typer.Option(help="The probability of keeping less than that.")] = 0.05,
    label_column: LabelColumn = None,
    as_json: AsJson = False,
    output: Annotated[Path | None, to_file("A CSV with every record, and whether it is kept.")] = None,
) -> None:
    """Find the score threshold for a guaranteed recall, from a labelled random sample."""
    with connected() as client:
        batch = client.batch(batch_id)
        view = batch.status()
        result = evaluation.calibrate(batch, labels, recall, delta, column=label_column)
    refusal = result.calibration.refusal
    if refusal is not None and not result.calibration.sampling.promises:
        refusal += f". `{words.proper_sample(view.id)}` draws one, with a file to fill in"
    if as_json:
        below = [record.item_id for record in result.records if not result.kept(record)] if refusal is None else []
        facts = {"batch": view.id, "finished": view.finished, "labels": str(labels)}
        print_json(facts | result.calibration.model_dump(mode="json") | {"refusal": refusal, "below_ids": below})
    if refusal is not None:
        if not as_json:
            err.say(f"[bold red]no threshold:[/] {escape(refusal)}")
        raise typer.Exit(EXIT_FAILED)
    if not as_json:
        _print_threshold(result, view)
    if output is not None:
        with replacing(output) as stream:
            write_kept(result, stream)
        err.print(f"{counted(len(result.records), 'record')} written to {output}", markup=False)


def _print(result: GoldEvaluation, view: BatchView) -> None:
    _say_matching(result.matching, view, result.sampling)
    stands = (
        (name, f"{stand.include:,}", f"{stand.referred:,}", f"{stand.exclude:,}", f"{stand.by_rule:,}")
        for name, stand in words.stands(result)
    )
    out.print(listing("", numbers=("include", "referred to a human", "exclude", "excluded by rules"), rows=stands))
    if result.referred:
        referred = ", ".join(f"{why} {n:,}" for why, n in result.referred.items())
        out.print(f"[dim]referred to a human:[/] {escape(referred)}")
    out.print()
    rates = ((line.name, *map(escape, line.values)) for line in words.rates(result))
    out.print(listing("", "screening: referred is kept", "decided: referred omitted", rows=rates))
    out.print()
    rest = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    for line in words.more(result):
        rest.add_row(line.name, escape(line.values[0]), f"[dim]{escape(line.about)}[/]")
    out.print(rest)
    out.say(f"[dim]{escape(words.score_remark(result.score))}[/]")
    _print_lost(result)
    if result.panel is not None:
        _print_panel(result.panel)


def _print_lost(result: GoldEvaluation) -> None:
    if not result.lost:
        out.print("[green]no record that the human included is excluded[/]")
        return
    out.print(f"\n[bold red]lost evidence: {len(result.lost):,} records that the human included are excluded[/]")
    for record in result.lost[:LISTED]:
        sure = "" if record.confidence is None else f" [dim]confidence {record.confidence:.2f}[/]"
        out.say(f"  {escape(record.item_id)}: {escape(record.title)} [dim]({escape(record.reason)})[/]{sure}")
    if len(result.lost) > LISTED:
        out.print(f"  [dim]and {len(result.lost) - LISTED:,} more: --json and -o FILE.html list all[/]")


def _print_panel(panel: PanelFigures) -> None:
    part = panel_part(panel)
    for head, rows in ((MEMBERS, part.members), (PAIRS, part.pairs)):
        if rows:
            out.print()
            out.print(listing(head[0], numbers=head[1:], rows=(map(escape, row) for row in rows)))
    out.print()
    for sentence in part.sentences:
        out.say(escape(sentence))


def _say_matching(matching: Matching, view: BatchView, sampling: Sampling) -> None:
    if not view.finished:
        left = view.counts.pending + view.counts.running
        out.print(f"[yellow]the batch is not finished[/]: {left:,} open records count as referred to a human")
    for remark in words.remarks(matching):
        out.say(f"[yellow]note:[/] {escape(remark)}")
    out.print(f"[dim]{matching.labelled:,} records of batch {view.id} have a label, matched by {matching.by}[/]")
    if (lies := words.sampling_remark(sampling)) is not None:
        out.say(f"[bold yellow]{escape(lies)}[/]")
    if not sampling.promises:
        out.say(f"[bold]{words.proper_sample(view.id)}[/] draws a random sample.")
    out.print()


def _print_threshold(result: Calibrated, view: BatchView) -> None:
    calibration = result.calibration
    _say_matching(calibration.matching, view, calibration.sampling)
    rows = {row.name: [*row.values, row.about] for row in words.threshold_rows(calibration)}
    value, about = rows["threshold"]
    rows["threshold"] = [f"[bold]{value}[/]:", about]
    rows["below"][0] += "; -o FILE.csv and --json list them"
    out.print(facts_by_name((name, " ".join(texts).rstrip()) for name, texts in rows.items()))
    out.say(f"[dim]{words.holds_for(calibration.sampling)}[/]")
    out.say(f"[dim]{escape(words.score_remark(calibration.score))}[/]")
