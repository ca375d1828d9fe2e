"""The forms in which a report is written: a page, the flow alone as a drawing, Markdown, figures as JSON."""

import json
import struct
import zlib
from collections.abc import Iterator
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import Any, TextIO

from sqlalchemy import Connection, Engine

from tamis_producer.ledger import stream_results
from tamis_producer.results.results_file import replacing
from tamis_schemas import ConfigurationError, InvalidRequest
from tamis_schemas.extras import needs

from .figures import Figures
from .flow_svg import draw
from .flow_template import flow_template
from .markdown import write_markdown
from .methods import methods, warnings
from .page import write_page
from .reading import ReportSubject, find_subject, read_figures, snapshot
from .table import Row, record_row, stage_row


class ReportForm(StrEnum):
    """The form in which a report is written."""

    HTML = "html"
    SVG = "svg"
    PNG = "png"
    MD = "md"
    JSON = "json"


ENDINGS = {
    ".html": ReportForm.HTML,
    ".htm": ReportForm.HTML,
    ".svg": ReportForm.SVG,
    ".png": ReportForm.PNG,
    ".md": ReportForm.MD,
    ".markdown": ReportForm.MD,
    ".json": ReportForm.JSON,
}


def write_report(engine: Engine, subject_id: str, form: ReportForm, stream: TextIO) -> Figures:
    """Write the report of a batch or a review, by its id or how it begins; its figures.

    A PNG goes to the bytes beneath the stream. Every number and every row is of one snapshot of the ledger.

    Raises:
        UnknownBatch: no batch and no review has this id.
        InvalidRequest: several have.
        OperationFailed: the ledger's own numbers do not add up.
        LedgerUnavailable: the ledger does not answer.
        ConfigurationError: what draws a PNG is missing, or a font for it.
    """
    with snapshot(engine) as connection:
        subject = find_subject(connection, subject_id)
        figures = read_figures(connection, subject)
        match form:
            case ReportForm.HTML:
                write_page(figures, _rows(connection, subject), stream)
            case ReportForm.SVG:
                stream.write(_drawing(figures))
            case ReportForm.PNG:
                stream.buffer.write(draw_png(_drawing(figures)))
            case ReportForm.MD:
                stream.write(write_markdown(figures))
            case ReportForm.JSON:
                stream.write(json.dumps(as_json(figures), ensure_ascii=False, indent=2) + "\n")
    return figures


def write_report_file(engine: Engine, subject_id: str, path: Path | str, form: ReportForm | None = None) -> Figures:
    """Write the report to a file, which is replaced when all of it is written; without a form, as the file ends.

    Raises as `write_report` and `form_of` do, and `InputError`: the file cannot be written.
    """
    form = form_of(path) if form is None else ReportForm(form)
    with replacing(path) as stream:
        return write_report(engine, subject_id, form, stream)


def form_of(path: Path | str) -> ReportForm:
    """Return the form that a file's name asks for, the page where it has no ending. Raises `InvalidRequest`."""
    ending = Path(path).suffix.lower()
    if ending and ending not in ENDINGS:
        endings = ", ".join(sorted(ENDINGS))
        raise InvalidRequest(f"{path}: reports end in {endings}; say the format of any other")
    return ENDINGS.get(ending, ReportForm.HTML)


def as_json(figures: Figures) -> dict[str, Any]:
    """Every figure, the boxes of the flow with their totals, and the methods as text."""
    boxes = [
        {"phase": place, "box": box.title, "n": box.n, "parts": [asdict(line) for line in box.lines]}
        for place, box in flow_template(figures.flow).boxes
    ]
    return {
        **figures.model_dump(mode="json"),
        "finished": figures.finished,
        "boxes": boxes,
        "warnings": list(warnings(figures)),
        "methods": [
            {"heading": part.heading, "text": part.text, "list": list(part.listed)} for part in methods(figures)
        ],
    }


def _drawing(figures: Figures) -> str:
    name = figures.label or f"{figures.kind} {figures.id}"
    return draw(figures.flow, title=f"PRISMA 2020 flow diagram: {name}")


def _rows(connection: Connection, subject: ReportSubject) -> Iterator[Row]:
    """A row for each record of the first batch, with what later stages said of it."""
    first, *others = subject.batches
    later: dict[int, list[Row]] = {}
    for number, batch in enumerate(others, 1):
        for result in stream_results(connection, batch.id):
            record = result.index if result.origin is None else result.origin
            later.setdefault(record, []).append(stage_row(number, batch.operation, result))
    for result in stream_results(connection, first.id):
        yield record_row(first.operation, result, later.get(result.index, ()))


DPI = 300  # what journals ask for; the drawing's own units are of 1/96 inch
_INCH = 0.0254  # m
_HEAD = 33  # bytes of a PNG's signature and of its first chunk, behind which the resolution stands
_PROBE = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><text y="8" font-family="{}">n</text></svg>'
_FAMILIES = "Arial,Helvetica,'Liberation Sans',sans-serif"


def draw_png(svg: str) -> bytes:
    """The drawing in pixels, `DPI` of them an inch.

    Raises `ConfigurationError`: the extra `png` is missing, or there is no font to write with.
    """
    with needs("png"):
        from resvg_py import svg_to_bytes

    if bytes(svg_to_bytes(_PROBE.format(_FAMILIES))) == bytes(
        svg_to_bytes(_PROBE.format(_FAMILIES).replace("n</", "</"))
    ):
        raise ConfigurationError(
            "this machine has no font to write a PNG with: install Liberation Sans (Debian: fonts-liberation), or take "
            "the SVG, which brings its text as text"
        )
    drawn = bytes(svg_to_bytes(svg, zoom=DPI / 96))
    return drawn[:_HEAD] + _resolution() + drawn[_HEAD:]


def _resolution() -> bytes:
    """Return the chunk that says how large the picture is on paper."""
    a_metre = round(DPI / _INCH)
    body = b"pHYs" + struct.pack(">IIB", a_metre, a_metre, 1)
    return struct.pack(">I", len(body) - 4) + body + struct.pack(">I", zlib.crc32(body))
