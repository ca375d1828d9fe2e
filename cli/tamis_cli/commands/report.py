"""`tamis report`: writes the result of a screening as a file, for example for a review's appendix."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from tamis_review.report import ReportForm, form_of
from tamis_review.reports import write_report_file
from tamis_schemas import InvalidRequest
from tamis_schemas.values.printable import STANDARD_OUTPUT

from .app import app, err
from .arguments import to_file
from .opened import chosen
from .tables import short


@app.command(
    examples=(
        "tamis report 3f2a91c0 -o report.html",
        "tamis report 3f2a91c0 -o prisma.png",
        "tamis report 3f2a91c0 --json",
    )
)
def report(
    subject: Annotated[str, typer.Argument(metavar="ID", help="The id of a batch or review, or its first characters.")],
    output: Annotated[Path | None, to_file("A file.  [default: report-ID.html; other formats: the terminal]")] = None,
    form: Annotated[
        ReportForm | None,
        typer.Option(
            "--format",
            help="html: the whole report in one file; svg, png: only the PRISMA flow; md: flow and methods; "
            "json: all figures.  [default: by the ending of FILE, else html]",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="The same as --format json.")] = False,
) -> None:
    """Write a report: PRISMA 2020 flow, figures, every decision with its reasons, and methods."""
    if as_json:
        if form not in {None, ReportForm.JSON}:
            raise InvalidRequest(f"--json and --format {form} cannot be combined")
        form = ReportForm.JSON
    if form is None:
        form = ReportForm.HTML if output is None else form_of(output)
    with chosen(subject) as reported:
        default = Path(f"report-{short(reported.id)}.html") if form is ReportForm.HTML else STANDARD_OUTPUT
        file = output or default
        if file == STANDARD_OUTPUT and form is ReportForm.PNG and sys.stdout.isatty():
            raise InvalidRequest("a PNG is not text: name a file, such as -o prisma.png")
        figures = write_report_file(reported, file, form)
    if file != STANDARD_OUTPUT:
        state = "" if figures.finished else " (not finished: numbers will change)"
        err.print(f"report of {figures.kind} {figures.id}{state} written to {file}", markup=False)
        if overridden := sum(batch.humans.overridden for batch in figures.batches):
            err.print(f"people's decisions in place of the software's: {overridden:,}")
