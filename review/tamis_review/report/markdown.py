"""The flow as a table and the methods as paragraphs, in Markdown."""

import re

from ..decisions.human_agreement import DRAWN, SELECTED
from .figures import Figures
from .flow_template import Box, flow_template
from .humans import HumanPart, human_parts
from .methods import methods, warnings
from .panels import MEMBERS, PAIRS, PanelPart, panel_parts
from .report_rows import ReportRow
from .round_failures import ABOUT, RoundPart, round_parts
from .source_rows import SourceRow, source_rows

# What Markdown (CommonMark, tables of GitHub's dialect) would read as markup inside a line or a cell, or HTML in it.
_MARKUP = re.compile(r"([\\`*_\[\]<>|~&#])")
INDENT = "&nbsp;&nbsp;"


def write_markdown(figures: Figures) -> str:
    """A document that a manuscript can take parts of."""
    name = figures.label or f"{figures.kind} {figures.id}"
    lines = [f"# {escaped(name)}: screening report", ""]
    for warning in warnings(figures):
        lines += [f"> **Note.** {escaped(warning)}", ""]
    lines += ["## Flow of records (PRISMA 2020)", "", "| phase | records | n |", "|---|---|---:|"]
    for place, box in flow_template(figures.flow).boxes:
        lines += _rows(place, box)
    lines += [*_sources(source_rows(figures)), *_reports(figures.reports)]
    share = figures.screening.pass_rate
    if share.estimate is not None and share.low is not None and share.high is not None:
        lines += [
            "",
            f"Pass rate: {share.count:,} of {share.total:,} decided records ({share.estimate:.1%}, {share.level:.0%} "
            f"interval {share.low:.1%} to {share.high:.1%}, Wilson).",
        ]
    final = figures.screening.final_pass_rate
    if figures.screening.humans.overridden and final.estimate is not None:
        lines += [
            "",
            f"In the end, with human decisions: {final.count:,} of {final.total:,} ({final.estimate:.1%}, "
            f"{final.level:.0%} interval {final.low:.1%} to {final.high:.1%}, Wilson).",
        ]
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


def _sources(rows: tuple[SourceRow, ...]) -> list[str]:
    if not rows:
        return []
    return [
        "",
        "| source | kind | searched | identified | removed as copies | screened |",
        "|---|---|---|---:|---:|---:|",
        *(
            f"| {escaped(row.name)} | {row.kind} | {row.searched} | {row.identified:,} | {row.duplicates:,} "
            f"| {row.screened:,} |"
            for row in rows
        ),
    ]


def _reports(rows: tuple[ReportRow, ...]) -> list[str]:
    if not rows:
        return []
    head = ["", "## Reports", "", "| record | report | outcome | reason or study |", "|---:|---|---|---|"]
    return head + [
        f"| {row.index + 1} | {escaped(row.title or row.item_id)} | {row.way} "
        f"| {escaped(row.reason or row.study or '')} |"
        for row in rows
    ]


def _panels(parts: tuple[PanelPart, ...]) -> list[str]:
    lines = ["", "## Panel of models"] if parts else []
    for part in parts:
        if part.heading:
            lines += ["", f"**{part.heading}.**"]
        for sentence in part.sentences:
            lines += ["", escaped(sentence)]
        for head, rows in ((MEMBERS, part.members), (PAIRS, part.pairs)):
            if rows:
                lines += ["", f"| {' | '.join(head)} |", f"|---|{'---:|' * (len(head) - 1)}"]
                lines += [f"| {' | '.join(escaped(cell) for cell in row)} |" for row in rows]
    return lines


def _humans(parts: tuple[HumanPart, ...]) -> list[str]:
    lines = ["", "## Human decisions"] if parts else []
    for part in parts:
        if part.heading:
            lines += ["", f"**{part.heading}.**"]
        if part.counts:
            lines += ["", "| decided by a human | n |", "|---|---:|"]
            lines += [f"| {text} | {n:,} |" for text, n in part.counts]
            lines += ["", f"Decided by {escaped(part.reviewers)}."]
        for text, finding in part.audits:
            lines += ["", f"{escaped(finding)} ({escaped(text)}.)"]
        if part.agreement:
            lines += ["", "| agreement on | n | agree | Cohen's kappa | Gwet's AC1 |", "|---|---:|---:|---:|---:|"]
            lines += [
                f"| {escaped(row.name)} | {row.n:,} | {row.observed} | {row.kappa} {row.kappa_range} "
                f"| {row.ac1} {row.ac1_range} |"
                for row in part.agreement
            ]
            lines += ["", *[SELECTED] * bool(part.counts), *[DRAWN] * bool(part.audits)]
    return lines


def _readings(figures: Figures) -> list[str]:
    lines = []
    for number, batch in enumerate(figures.batches, 1):
        stop = None if batch.reading is None else batch.reading.stop
        if stop is not None:
            stage = f" of stage {number}" if len(figures.batches) > 1 else ""
            lines += ["", f"## Stop rule{stage}", "", f"**{escaped(stop.headline)}**", ""]
            lines += ["| figure | value | what it says for the review |", "|---|---|---|"]
            lines += [
                f"| {escaped(one.name)} | {escaped(one.value)} | {escaped(one.meaning)} |" for one in stop.figures
            ]
    return lines


def _rounds(parts: tuple[RoundPart, ...]) -> list[str]:
    lines = ["", "## Rounds and failures"] if parts else []
    for part in parts:
        lines += ["", f"**{part.heading}.** {escaped(part.text)}"]
        for one in part.comparisons:
            lines += ["", f"| by {one.trait.words} | failed | of | rate |", "|---|---:|---:|---:|"]
            lines += [
                f"| {escaped(group.label)} | {group.failed:,} | {group.n:,} | {group.rate:.1%} |"
                for group in one.groups
            ]
            lines += ["", escaped(one.sentence + (f" ({one.tested})" if one.tested else ""))]
    return lines + (["", escaped(ABOUT)] if parts else [])


def _rows(phase: str, box: Box) -> list[str]:
    rows = [f"| {phase} | **{escaped(box.title)}** | **{box.n:,}** |"]
    for line in box.lines:
        n = "" if line.n is None else f"{line.n:,}"
        rows.append(f"| | {INDENT * (line.depth + 1)}{escaped(line.text)} | {n} |")
    return rows
