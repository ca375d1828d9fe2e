"""`tamis report`: what a screening came to, as a file that can stand in a review's appendix."""

from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer

from tamis_producer.client.client import Client
from tamis_producer.intake.results_file import replacing
from tamis_producer.report import ReportForm, resolve, write_report
from tamis_schemas import InvalidRequest
from tamis_schemas.batches.wire import SHORT_ID

from .app import app, err
from .console import for_data

ENDINGS = {
    ".html": ReportForm.HTML,
    ".htm": ReportForm.HTML,
    ".svg": ReportForm.SVG,
    ".md": ReportForm.MD,
    ".markdown": ReportForm.MD,
    ".json": ReportForm.JSON,
}


@app.command(examples=("tamis report 3f2a91c0 -o report.html", "tamis report 3f2a91c0 --json"))
def report(
    subject: Annotated[str, typer.Argument(metavar="ID", help="A batch's or a review's id, or how it begins.")],
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="A file.  [default: report-ID.html; other formats: the terminal]"),
    ] = None,
    form: Annotated[
        ReportForm | None,
        typer.Option(
            "--format",
            help="html: the whole report in one file; svg: the PRISMA flow alone; md: flow and methods; "
            "json: all figures.  [default: as the file ends, else html]",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="The same as --format json.")] = False,
) -> None:
    """Write a report: PRISMA 2020 flow, figures, every decision with its reasons, and methods."""
    if as_json:
        if form not in {None, ReportForm.JSON}:
            raise InvalidRequest(f"--json and --format {form} do not go together")
        form = ReportForm.JSON
    if form is None:
        form = _form_of(output)
    with Client() as client:
        whole = resolve(client.engine, subject)  # first, so that a wrong id is told as what it is
        if output is None and form is ReportForm.HTML:
            output = Path(f"report-{whole[:SHORT_ID]}.html")
        stdout = for_data(typer.get_text_stream("stdout"))
        with nullcontext(stdout) if output is None else replacing(output) as stream:
            figures = write_report(client.engine, whole, form, stream)
    if output is not None:
        state = "" if figures.finished else " (not finished: its numbers will change)"
        err.print(f"report of {figures.kind} {figures.id}{state} written to {output}", markup=False)
        overridden = sum(batch.humans.overridden for batch in figures.batches)
        if overridden:
            err.print(f"{overridden:,} decisions in it are a human's, instead of the software's")


def _form_of(output: Path | None) -> ReportForm:
    if output is None or not output.suffix:
        return ReportForm.HTML
    form = ENDINGS.get(output.suffix.lower())
    if form is None:
        endings = ", ".join(sorted(ENDINGS))
        raise InvalidRequest(f"{output}: reports end in {endings}; say --format for another name")
    return form
