"""The report as one self-contained HTML file."""

import base64
import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TextIO

from tamis_schemas.batches.flow import BY_HUMAN, Tally, total
from tamis_schemas.extras import needs
from tamis_schemas.operations import kind_of

from ..decisions.final_outcome import Outcome
from ..decisions.human_agreement import DRAWN, SELECTED
from .charts import draw_finding, histogram, interval
from .figures import BatchFigures, Figures, ReadingFigures, SubjectKind
from .flow_svg import draw
from .flow_template import flow_template
from .methods import methods, warnings
from .sections import ABOUT_ROUNDS, MEMBERS, PAIRS, human_parts, panel_parts, round_parts, source_rows
from .stage_methods import costs
from .table import MOST_ROWS, Row, outcome_names, table_facts
from .wording import error_words

with needs("cli"):
    from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
    from markupsafe import Markup


@cache
def template(path: Path, *more: Path) -> Template:
    """Return the template in a file. The template may include files of its own folder and of the folders `more`."""
    environment = Environment(
        loader=FileSystemLoader([path.parent, *more]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(path.name)


def policy_hash(text: str) -> str:
    """Return the SHA-256 of an inline script or style in base64, for a content security policy."""
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


ASSETS = Path(__file__).parent / "assets"
MOST_REPORTS = 2_000  # rows of the page's table of reports
SPENDING_ROWS = (
    ("calls", "calls"),
    ("prompt tokens", "prompt_tokens"),
    ("completion tokens", "completion_tokens"),
    ("records answered from the cache", "cached"),
    ("records too long to be sent in full", "cut"),
)


@dataclass(frozen=True)
class Headline:
    """A number at the top of the page."""

    text: str
    n: int
    outcome: str = ""


def write_page(figures: Figures, rows: Iterable[Row], stream: TextIO) -> None:
    """Write the page with a row for each record. Only the row that is being written is in memory.

    With more than `MOST_ROWS` records, the page has the figures but no rows.
    """
    for piece in template(ASSETS / "page.html.jinja").generate(_context(figures, rows)):
        stream.write(piece)


def _context(figures: Figures, rows: Iterable[Row]) -> dict[str, Any]:
    screening = figures.screening
    kind = kind_of(screening.operation)
    css = (ASSETS / "page.css").read_text("utf-8")
    js = "".join((ASSETS / name).read_text("utf-8") for name in ("quotes.js", "table.js", "page.js"))
    name = figures.label or f"{figures.kind} {figures.id[:8]}"
    names = outcome_names(screening.operation)
    several = len(figures.batches) > 1
    stages = f", {len(figures.batches)} stage{'s' * several}" if figures.kind is SubjectKind.REVIEW else ""
    errors = [
        Tally(
            name=(f"{kind_of(batch.operation).report_noun}: " if several else "") + error_words(error.name), n=error.n
        )
        for batch in figures.batches
        for error in batch.errors
    ]
    written = f"{figures.read_at:%Y-%m-%d %H:%M %Z}"
    return {
        "figures": figures,
        "screening": screening,
        "left_out": screening.counts.n_items > MOST_ROWS,
        "most_rows": MOST_ROWS,
        "title": f"{name} – screening report",
        "eyebrow": "Screening report" if kind.decides() else "Evaluation report",
        "name": name,
        "lead": f"{figures.kind.capitalize()} {figures.id}{stages}. State on {written}.",
        "warnings": warnings(figures),
        "headline": _headline(figures),
        "decides": kind.decides(),
        "by_human": BY_HUMAN,
        "value_heading": "Reason" if kind.decides() else "Value",
        "excluded": total(screening.reasons),
        "errors": errors,
        "names": names,
        "steps": flow_template(figures.flow).steps,
        "sources": source_rows(figures),
        "reports": figures.reports[:MOST_REPORTS],
        "reports_left_out": len(figures.reports) > MOST_REPORTS,
        "spending_rows": SPENDING_ROWS,
        "rounds": round_parts(figures),
        "humans": human_parts(figures),
        "panels": panel_parts(figures),
        "panel_heads": (MEMBERS, PAIRS),
        "readings": _readings(figures),
        "about_overrides": SELECTED,
        "about_audits": DRAWN,
        "about_rounds": ABOUT_ROUNDS,
        "costs": costs(figures.spending),
        "methods": methods(figures),
        "particulars": particulars,
        "written": written,
        # Safe: our own code, which escapes every text, or files of this package.
        "flow_svg": Markup(draw(figures.flow, standalone=False)),  # noqa: S704
        "interval_svg": Markup(interval(screening.pass_rate)),  # noqa: S704
        "final_svg": Markup(interval(screening.final_pass_rate, "final-interval", "Final pass rate")),  # noqa: S704
        "histogram_svg": Markup(histogram(screening.confidence, names)),  # noqa: S704
        "css": Markup(css),  # noqa: S704
        "js": Markup(js),  # noqa: S704
        "css_hash": policy_hash(css),
        "js_hash": policy_hash(js),
        "facts": _script_json(table_facts(screening.labelled, [batch.operation for batch in figures.batches])),
        "rows": ("," * (place > 0) + _script_json(row) for place, row in enumerate(rows)),
    }


def particulars(batch: BatchFigures) -> list[tuple[str, str]]:
    """Return a batch's identity, dates and inputs, as pairs of name and value."""
    lines = [
        ("Batch", batch.id),
        ("Operation", batch.operation),
        ("State", batch.state.value),
        ("Model requested", batch.model_asked or "the workers' default"),
        ("Model named by the endpoint", ", ".join(f"{name} ({n:,})" for name, n in batch.models.items()) or "–"),
        ("Submitted", f"{batch.created_at:%Y-%m-%d %H:%M:%S %Z}"),
        ("Started", "–" if batch.started_at is None else f"{batch.started_at:%Y-%m-%d %H:%M:%S %Z}"),
        ("Finished", "–" if batch.finished_at is None else f"{batch.finished_at:%Y-%m-%d %H:%M:%S %Z}"),
        ("Rounds", str(batch.round)),
        ("SHA-256 of the parameters", batch.prompts.parameters_sha256),
        ("SHA-256 of the prompts", batch.prompts.sha256 or "–"),
    ]
    for source in batch.sources:
        of_source = f" of {source.name}" if len(batch.sources) > 1 else ""
        for file in source.files:
            lines += [
                (f"File{of_source}", f"{file.file} ({file.format}, {file.encoding})"),
                ("SHA-256 of the file", file.sha256),
            ]
    return lines


def _headline(figures: Figures) -> list[Headline]:
    flow, stage = figures.flow, figures.flow.stages[0]
    numbers = [
        Headline("records identified", flow.n_identified),
        Headline("removed before screening", flow.n_removed),
    ]
    if kind_of(stage.operation).decides():
        numbers += [
            Headline("screened", stage.entered),
            Headline("included" if flow.reports is None else "included by screening", stage.passed, Outcome.PASSED),
            Headline("excluded", stage.n_excluded),
            Headline("referred to a human", stage.referred, Outcome.UNCERTAIN),
        ]
    else:
        numbers += [
            Headline("given to the model", stage.entered),
            Headline("evaluated", stage.passed, Outcome.PASSED),
            Headline("failed", total(stage.failed)),
        ]
    if figures.screening.humans.decided:
        numbers.append(Headline("overridden by a human", figures.screening.humans.overridden))
    if flow.reports is not None:
        numbers.append(Headline("studies included in review", flow.reports.studies, Outcome.PASSED))
    if stage.open + stage.cancelled:
        numbers.append(Headline("without a result", stage.open + stage.cancelled))
    return numbers


def _readings(figures: Figures) -> list[tuple[str, ReadingFigures, Markup]]:
    """Return a heading, the figures and the curve of finding for each stage with a reading order or a stop sample."""
    return [
        (
            stage,
            batch.reading,
            Markup(draw_finding(batch.reading.finding, f"finding-{number}")),  # noqa: S704 - our own drawing
        )
        for number, (stage, batch) in enumerate(figures.staged(), 1)
        if batch.reading is not None
    ]


def _script_json(value: object) -> Markup:
    """Return a value as JSON for a script element. Without `<`, the JSON cannot end the element or begin a comment."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return Markup(text.replace("<", "\\u003c"))  # noqa: S704 - made safe in this line
