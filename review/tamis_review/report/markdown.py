"""The flow as a table and the methods as paragraphs, in Markdown."""

import re
from collections.abc import Iterable, Sequence

from tamis_schemas import Proportion

from ..decisions.human_agreement import DRAWN, SELECTED
from .figures import Figures, ReportRow
from .flow_template import Box, flow_template
from .methods import methods, warnings
from .sections import (
    ABOUT_ROUNDS,
    MEMBERS,
    PAIRS,
    HumanPart,
    PanelPart,
    RoundPart,
    SourceRow,
    human_parts,
    panel_parts,
    round_parts,
    source_rows,
)

# What Markdown (CommonMark, tables of GitHub's dialect) would read as markup inside a line or a cell, or HTML in it.
_MARKUP = re.compile(r"([\\`*_\[\]<>|~&#])")
INDENT = "&nbsp;&nbsp;"


def write_markdown(figures: Figures) -> str:
    """A document that a manuscript can take parts of."""
    name = figures.label or f"{figures.kind} {figures.id}"
    lines = [f"# {escaped(name)}: screening report", ""]
    for warning in warnings(figures):
        lines += [f"> **Note.** {escaped(warning)}", ""]
    lines += ["## Flow of records (PRISMA 2020)", *_table(("phase", "records", "n"), "llr", ())]
    for place, box in flow_template(figures.flow).boxes:
        lines += _rows(place, box)
    lines += [*_sources(source_rows(figures)), *_reports(figures.reports)]
    share, final = figures.screening.pass_rate, figures.screening.final_pass_rate
    if share.estimate is not None:
        lines += ["", f"Pass rate: {share.count:,} of {share.total:,} decided records {_interval(share)}."]
    if figures.screening.humans.overridden and final.estimate is not None:
        lines += ["", f"In the end, with human decisions: {final.count:,} of {final.total:,} {_interval(final)}."]
    lines += _panels(panel_parts(figures))
    lines += _humans(human_parts(figures))
    lines += _readings(figures)
    lines += _rounds(round_parts(figures))
    lines += ["", "## Methods", ""]
    for part in methods(figures):
        lines += [f"**{part.heading}.** {escaped(part.text)}", ""]
        if part.listed:
            lines += [*(f"- {escaped(line)}" for line in part.listed), ""]
    return "\n".join(lines)


def escaped(text: str) -> str:
    """A text on one line that Markdown shows as it is."""
    return _MARKUP.sub(r"\\\1", " ".join(text.split()))


def _table(head: Sequence[str], sides: str, rows: Iterable[Sequence[str]]) -> list[str]:
    """The lines of a table; `sides` has an `l` for each column of texts, and an `r` for each of numbers."""
    ruler = "|".join("---" if side == "l" else "---:" for side in sides)
    return ["", f"| {' | '.join(head)} |", f"|{ruler}|", *(f"| {' | '.join(row)} |" for row in rows)]


def _interval(share: Proportion) -> str:
    return f"({share.estimate:.1%}, {share.level:.0%} interval {share.low:.1%} to {share.high:.1%}, Wilson)"


def _sources(rows: tuple[SourceRow, ...]) -> list[str]:
    head = ("source", "kind", "searched", "identified", "removed as copies", "screened")
    cells = [
        (escaped(row.name), row.kind, row.searched, f"{row.identified:,}", f"{row.duplicates:,}", f"{row.screened:,}")
        for row in rows
    ]
    return _table(head, "lllrrr", cells) if rows else []


def _reports(rows: tuple[ReportRow, ...]) -> list[str]:
    cells = [
        (f"{row.index + 1}", escaped(row.title or row.item_id), row.way, escaped(row.reason or row.study or ""))
        for row in rows
    ]
    head = ("record", "report", "outcome", "reason or study")
    return ["", "## Reports", *_table(head, "rlll", cells)] if rows else []


def _panels(parts: tuple[PanelPart, ...]) -> list[str]:
    lines = ["", "## Panel of models"] if parts else []
    for part in parts:
        lines += _heading(part.heading)
        for sentence in part.sentences:
            lines += ["", escaped(sentence)]
        for head, rows in ((MEMBERS, part.members), (PAIRS, part.pairs)):
            if rows:
                lines += _table(head, "l" + "r" * (len(head) - 1), ([escaped(cell) for cell in row] for row in rows))
    return lines


def _humans(parts: tuple[HumanPart, ...]) -> list[str]:
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


def _readings(figures: Figures) -> list[str]:
    lines = []
    for number, batch in enumerate(figures.batches, 1):
        stop = None if batch.reading is None else batch.reading.stop
        if stop is not None:
            stage = f" of stage {number}" if len(figures.batches) > 1 else ""
            cells = [(escaped(one.name), escaped(one.value), escaped(one.meaning)) for one in stop.figures]
            lines += ["", f"## Stop rule{stage}", "", f"**{escaped(stop.headline)}**"]
            lines += _table(("figure", "value", "what it says for the review"), "lll", cells)
    return lines


def _rounds(parts: tuple[RoundPart, ...]) -> list[str]:
    lines = ["", "## Rounds and failures"] if parts else []
    for part in parts:
        lines += ["", f"**{part.heading}.** {escaped(part.text)}"]
        for one in part.comparisons:
            cells = [(escaped(of.label), f"{of.failed:,}", f"{of.n:,}", f"{of.rate:.1%}") for of in one.groups]
            lines += _table((f"by {one.trait.words}", "failed", "of", "rate"), "lrrr", cells)
            lines += ["", escaped(one.sentence + (f" ({one.tested})" if one.tested else ""))]
    return lines + (["", escaped(ABOUT_ROUNDS)] if parts else [])


def _heading(text: str) -> list[str]:
    return ["", f"**{text}.**"] if text else []


def _rows(phase: str, box: Box) -> list[str]:
    rows = [f"| {phase} | **{escaped(box.title)}** | **{box.n:,}** |"]
    for line in box.lines:
        n = "" if line.n is None else f"{line.n:,}"
        rows.append(f"| | {INDENT * (line.depth + 1)}{escaped(line.text)} | {n} |")
    return rows
