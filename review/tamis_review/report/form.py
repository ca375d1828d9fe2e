"""The forms of a report: page, drawing of the flow, Markdown, and figures as JSON."""

import json
import re
import struct
import zlib
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any, TextIO

from sqlalchemy import Connection, Engine

from tamis_producer.ledger import stream_results
from tamis_producer.results.results_file import replacing
from tamis_schemas import ConfigurationError, InvalidRequest, Proportion
from tamis_schemas.batches.flow import BY_HUMAN, FlowSource
from tamis_schemas.extras import needs
from tamis_schemas.records.record_number import record_number
from tamis_schemas.values.frozen import Frozen

from ..decisions.human_agreement import DRAWN, SELECTED
from . import sections
from .figures import Figures, ReportRow
from .flow_svg import draw
from .flow_template import Box, BoxLine, flow_template
from .methods import methods, warnings
from .page import write_page
from .reading import ReportSubject, find_subject, read_figures, snapshot
from .table import Row, record_row, stage_row

# Text that Markdown (CommonMark, tables of GitHub's dialect) would read as markup or HTML in a line or a cell.
_MARKUP = re.compile(r"([\\`*_\[\]<>|~&#])")
INDENT = "&nbsp;&nbsp;"


def write_markdown(figures: Figures) -> str:
    """Return the report as a Markdown document, for use in a manuscript."""
    name = figures.label or f"{figures.kind} {figures.id}"
    lines = [f"# {escaped(name)}: screening report", ""]
    for warning in warnings(figures):
        lines += [f"> **Note.** {escaped(warning)}", ""]
    lines += ["## Flow of records (PRISMA 2020)", *_table(("phase", "records", "n"), "llr", ())]
    for place, box in flow_template(figures.flow).boxes:
        lines += _box_rows(place, box)
    lines += ["", BY_HUMAN] if figures.flow.screening is not None else []
    lines += _sources(sections.source_rows(figures))
    if pairs := figures.screening.copies:
        cells = ([escaped(cell) for cell in pair.cells] for pair in pairs)
        lines += ["", "## Possible copies", *_table(("copy", "of", "doubt", "verdict"), "llll", cells)]
    lines += _reports(figures.reports)
    share, final = figures.screening.pass_rate, figures.screening.final_pass_rate
    if share.estimate is not None:
        lines += ["", f"Pass rate: {share.count:,} of {share.total:,} decided records {_interval(share)}."]
    if figures.screening.humans.overridden and final.estimate is not None:
        lines += ["", f"Final pass rate, with human decisions: {final.count:,} of {final.total:,} {_interval(final)}."]
    lines += _panels(sections.panel_parts(figures))
    lines += _humans(sections.human_parts(figures))
    lines += _readings(figures)
    lines += _rounds(sections.round_parts(figures))
    lines += ["", "## Methods", ""]
    for part in methods(figures):
        lines += [f"**{part.heading}.** {escaped(part.text)}", ""]
        if part.listed:
            lines += [*(f"- {escaped(line)}" for line in part.listed), ""]
    return "\n".join(lines)


def escaped(text: str) -> str:
    """Return a text on one line, escaped so that Markdown shows it unchanged."""
    return _MARKUP.sub(r"\\\1", " ".join(text.split()))


def _table(head: Sequence[str], sides: str, rows: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of a table. `sides`: an `l` for each text column, and an `r` for each number column."""
    ruler = "|".join("---" if side == "l" else "---:" for side in sides)
    return ["", f"| {' | '.join(head)} |", f"|{ruler}|", *(f"| {' | '.join(row)} |" for row in rows)]


def _interval(share: Proportion) -> str:
    return f"({share.estimate:.1%}, {share.level:.0%} interval {share.low:.1%} to {share.high:.1%}, Wilson)"


def _sources(rows: Sequence[tuple[FlowSource, str]]) -> list[str]:
    head = ("source", "kind", "searched", "identified", "duplicates removed", "removed otherwise", "screened")
    cells = []
    for row, searched in rows:
        counts = (row.identified, row.duplicates, row.removed_otherwise, row.screened)
        cells.append((escaped(row.name), row.kind, searched, *(f"{count:,}" for count in counts)))
    return _table(head, "lllrrrr", cells) if rows else []


def _reports(rows: tuple[ReportRow, ...]) -> list[str]:
    cells = []
    for row in rows:
        linked = [f"[{escaped(text)}](<{url}>)" if url else escaped(text) for text, url in row.identifiers]
        report = f"{escaped(row.title or '(no title)')} ({', '.join(linked)})"
        cells.append((str(record_number(row.index)), report, row.way, escaped(row.reason or row.study or "")))
    head = ("record", "report", "outcome", "reason or study")
    return ["", "## Reports", *_table(head, "rlll", cells)] if rows else []


def _panels(parts: tuple[sections.PanelPart, ...]) -> list[str]:
    lines = ["", "## Panel of models"] if parts else []
    for part in parts:
        lines += _heading(part.heading)
        for sentence in part.sentences:
            lines += ["", escaped(sentence)]
        for head, rows in ((sections.MEMBERS, part.members), (sections.PAIRS, part.pairs)):
            if rows:
                lines += _table(head, "l" + "r" * (len(head) - 1), ([escaped(cell) for cell in row] for row in rows))
    return lines


def _humans(parts: tuple[sections.HumanPart, ...]) -> list[str]:
    lines = ["", "## Human decisions"] if parts else []
    for part in parts:
        lines += _heading(part.heading)
        if part.counts:
            lines += _table(("decided by a human", "n"), "lr", ((text, f"{n:,}") for text, n in part.counts))
            lines += ["", f"Decided by {escaped(part.reviewers)}."]
        for text, finding in part.audits:
            lines += ["", f"{escaped(finding)} ({escaped(text)}.)"]
        if part.agreement:
            cells = [
                (
                    *(escaped(row.name), f"{row.n:,}", row.observed),
                    *(f"{row.kappa} {row.kappa_range}", f"{row.ac1} {row.ac1_range}"),
                )
                for row in part.agreement
            ]
            lines += _table(("agreement on", "n", "agree", "Cohen's kappa", "Gwet's AC1"), "lrrrr", cells)
            lines += ["", *[SELECTED] * bool(part.counts), *[DRAWN] * bool(part.audits)]
    return lines


def _readings(figures: Figures) -> Iterator[str]:
    for stage, batch in figures.staged(" of stage {}"):
        if batch.reading is not None and (stop := batch.reading.stop) is not None:
            cells = [(escaped(figure.name), escaped(figure.value), escaped(figure.meaning)) for figure in stop.figures]
            yield from ("", f"## Stop rule{stage}", "", f"**{escaped(stop.headline)}**")
            yield from _table(("figure", "value", "meaning for the review"), "lll", cells)


def _rounds(parts: tuple[sections.RoundPart, ...]) -> list[str]:
    lines = ["", "## Rounds and failures"] if parts else []
    for part in parts:
        lines += ["", f"**{part.heading}.** {escaped(part.text)}"]
        for comparison in part.comparisons:
            cells = [(escaped(of.label), f"{of.failed:,}", f"{of.n:,}", f"{of.rate:.1%}") for of in comparison.groups]
            lines += _table((f"by {comparison.trait.words}", "failed", "of", "rate"), "lrrr", cells)
            lines += ["", escaped(comparison.sentence + (f" ({comparison.tested})" if comparison.tested else ""))]
    return lines + (["", escaped(sections.ABOUT_ROUNDS)] if parts else [])


def _heading(text: str) -> list[str]:
    return ["", f"**{text}.**"] if text else []


def _box_rows(phase: str, box: Box) -> Iterator[str]:
    yield f"| {phase} | **{escaped(box.title)}** | **{box.n:,}** |"
    for line in box.lines:
        n = "" if line.n is None else f"{line.n:,}"
        yield f"| | {INDENT * (line.depth + 1)}{escaped(line.text)} | {n} |"


class ReportForm(StrEnum):
    """The form of a written report."""

    HTML = "html"
    SVG = "svg"
    PNG = "png"
    MD = "md"
    JSON = "json"


ENDINGS = {f".{form}": form for form in ReportForm} | {".htm": ReportForm.HTML, ".markdown": ReportForm.MD}


def write_report(engine: Engine, subject_id: str, form: ReportForm, stream: TextIO) -> Figures:
    """Write the report of a batch or a review, and return its figures. `subject_id`: an id, or the beginning of an id.

    A PNG goes to the stream's binary buffer. All numbers and rows come from one snapshot of the ledger.

    Raises:
        UnknownBatch: no batch and no review has this id.
        InvalidRequest: several ids begin with `subject_id`.
        OperationFailed: the ledger's own numbers do not add up.
        LedgerUnavailable: the ledger does not answer.
        ConfigurationError: the extra for PNG, or a font for it, is missing.
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
    """Write the report of a batch or a review to a file, and return its figures.

    `subject_id`: an id, or the beginning of an id. `form`: None if the file's ending decides the form.

    An existing file is replaced when the new report is complete. Raises `InvalidRequest` for an unknown ending,
    `InputError` if the file cannot be written, and the errors of `write_report`, such as `UnknownBatch`.
    """
    form = form_of(path) if form is None else ReportForm(form)
    with replacing(path) as stream:
        return write_report(engine, subject_id, form, stream)


def form_of(path: Path | str) -> ReportForm:
    """Return the form for a file's ending, or HTML if there is none. Raise `InvalidRequest` for an unknown ending."""
    ending = Path(path).suffix.lower()
    if ending and ending not in ENDINGS:
        raise InvalidRequest(
            f"{path}: reports end in {', '.join(sorted(ENDINGS))}; for another ending, state the format"
        )
    return ENDINGS.get(ending, ReportForm.HTML)


class ReportBox(Frozen):
    """A box of the flow diagram."""

    phase: str
    box: str
    n: int
    side: bool  # beside the flow: records leave here
    parts: tuple[BoxLine, ...]


class MethodText(Frozen):
    """One part of the methods section."""

    heading: str
    text: str
    list: tuple[str, ...]


class ReportDocument(Figures):
    """A report as data for JSON: every figure, the boxes of the flow with their totals, warnings, and the methods."""

    boxes: tuple[ReportBox, ...]
    warnings: tuple[str, ...]
    methods: tuple[MethodText, ...]


def as_json(figures: Figures) -> dict[str, Any]:
    """Return the report as data for JSON: figures, boxes of the flow, warnings and methods (`ReportDocument`)."""
    boxes = tuple(
        ReportBox(phase=step.place, box=box.title, n=box.n, side=side, parts=box.lines)
        for step in flow_template(figures.flow).steps
        for side, box in ((box is not step.box, box) for box in step.boxes)
    )
    texts = tuple(MethodText(heading=part.heading, text=part.text, list=part.listed) for part in methods(figures))
    document = ReportDocument(**dict(figures), boxes=boxes, warnings=tuple(warnings(figures)), methods=texts)
    return document.model_dump(mode="json")


def _drawing(figures: Figures) -> str:
    name = figures.label or f"{figures.kind} {figures.id}"
    return draw(figures.flow, title=f"PRISMA 2020 flow diagram: {name}")


def _rows(connection: Connection, subject: ReportSubject) -> Iterator[Row]:
    """Yield a row for each record of the first batch, with the results of later stages."""
    first, *others = subject.batches
    later: dict[int, list[Row]] = {}
    for number, batch in enumerate(others, 1):
        for result in stream_results(connection, batch.id):
            record = result.index if result.origin is None else result.origin
            later.setdefault(record, []).append(stage_row(number, batch.operation, result))
    for result in stream_results(connection, first.id):
        yield record_row(first.operation, result, later.get(result.index, ()))


DPI = 300  # resolution that journals require; the drawing's own units are of 1/96 inch
_INCH = 0.0254  # m
_HEAD = 33  # bytes of a PNG's signature and first chunk; the resolution follows
_PROBE = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><text y="8" font-family="{}">n</text></svg>'
_FAMILIES = "Arial,Helvetica,'Liberation Sans',sans-serif"


def draw_png(svg: str) -> bytes:
    """Return the drawing as a PNG with `DPI` pixels per inch.

    Raises `ConfigurationError` if the extra `png` or a font is missing.
    """
    with needs("png"):
        from resvg_py import svg_to_bytes

    probe = _PROBE.format(_FAMILIES)
    if bytes(svg_to_bytes(probe)) == bytes(svg_to_bytes(probe.replace("n</", "</"))):
        raise ConfigurationError(
            "this machine has no font for a PNG: install Liberation Sans (Debian: fonts-liberation), or write an SVG, "
            "which needs no font here"
        )
    drawn = bytes(svg_to_bytes(svg, zoom=DPI / 96))
    a_metre = round(DPI / _INCH)
    body = b"pHYs" + struct.pack(">IIB", a_metre, a_metre, 1)  # the PNG chunk with the resolution
    chunk = struct.pack(">I", len(body) - 4) + body + struct.pack(">I", zlib.crc32(body))
    return drawn[:_HEAD] + chunk + drawn[_HEAD:]
