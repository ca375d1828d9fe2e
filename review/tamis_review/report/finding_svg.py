"""The curve of finding as an SVG: records that people read, in their order, and how many of them they included."""

from collections.abc import Callable
from html import escape
from typing import TypeAlias

from .charts import grid_step, svg_element
from .figures import FindingFigures

WIDTH, HEIGHT = 640, 300
LEFT, RIGHT = 46, 628
TOP, BOTTOM = 34, 240

_Scale: TypeAlias = Callable[[float], float]  # a number as a place in the drawing


def draw_finding(finding: FindingFigures, name: str = "finding") -> str:
    """The element; the page's style sheet colours it by its classes. `name`: another one for each drawing of a page."""
    top, across = max(finding.found, 1), max(finding.records, 1)

    def x(read: float) -> float:
        return LEFT + (RIGHT - LEFT) * read / across

    def y(found: float) -> float:
        return BOTTOM - (BOTTOM - TOP) * found / top

    drawn = []
    if finding.read < finding.records:
        at, width = x(finding.read), RIGHT - x(finding.read)
        words = f"read by nobody: {finding.records - finding.read:,}"
        drawn.append(
            f'<rect class="unread" x="{at:.1f}" y="{TOP}" width="{width:.1f}" height="{BOTTOM - TOP}">'
            f"<title>{words}</title></rect>"
        )
        if width > 7 * len(words):  # about what the words take
            drawn.append(
                f'<text class="tick" x="{at + width / 2:.1f}" y="{BOTTOM - 14}" text-anchor="middle">{words}</text>'
            )
    drawn += _axes(finding, x, y)
    drawn.append(f'<line class="ideal" x1="{x(0):g}" y1="{y(0):g}" x2="{x(across):g}" y2="{y(finding.found):g}"/>')
    drawn.append(f'<polyline class="curve" points="{" ".join(_steps(finding, x, y))}"/>')
    drawn.append(f'<circle class="point" cx="{x(finding.read):.1f}" cy="{y(finding.found):.1f}" r="4.5"/>')
    caption = f"{finding.found:,} included among the {finding.read:,} of {finding.records:,} records that people read"
    drawn.append(f'<text class="caption" x="{LEFT}" y="18">{escape(caption)}</text>')
    return svg_element(name, "The curve of finding", _words(finding), WIDTH, HEIGHT, drawn)


def _axes(finding: FindingFigures, x: _Scale, y: _Scale) -> list[str]:
    drawn = []
    for value in range(0, finding.found + 1, grid_step(max(finding.found, 1))):
        drawn += [
            f'<line class="grid" x1="{LEFT}" x2="{RIGHT}" y1="{y(value):g}" y2="{y(value):g}"/>',
            f'<text class="tick" x="{LEFT - 8}" y="{y(value) + 4:g}" text-anchor="end">{value:,}</text>',
        ]
    for value in range(0, finding.records + 1, grid_step(max(finding.records, 1))):
        near_the_end = x(value) > RIGHT - 24
        drawn.append(
            f'<text class="tick" x="{x(value):.1f}" y="{BOTTOM + 18}" '
            f'text-anchor="{"end" if near_the_end else "middle"}">{value:,}</text>'
        )
    middle = (LEFT + RIGHT) / 2
    return [
        *drawn,
        f'<line class="axis" x1="{LEFT}" x2="{RIGHT}" y1="{BOTTOM}" y2="{BOTTOM}"/>',
        f'<text class="tick" x="{middle:g}" y="{BOTTOM + 38}" text-anchor="middle">records read by people, in the '
        "order in which they decided</text>",
        f'<text class="tick" x="{middle:g}" y="{BOTTOM + 54}" text-anchor="middle">dashed: the same number, if chance '
        "had ordered them</text>",
    ]


def _steps(finding: FindingFigures, x: _Scale, y: _Scale) -> list[str]:
    """Return the corners: up by one at each find; those that would fall on one place are drawn once."""
    corners = [(0.0, 0.0)]
    for nth, read in enumerate(finding.finds, 1):
        corners += [(read, nth - 1), (read, nth)]
    corners.append((finding.read, finding.found))
    return list(dict.fromkeys(f"{x(read):.1f},{y(found):.1f}" for read, found in corners))


def _words(finding: FindingFigures) -> str:
    if not finding.finds:
        return f"{finding.read:,} records read, none included"
    marks = []
    for share in (0.5, 0.8, 0.95, 1.0):
        nth = max(1, -(-int(share * 100) * finding.found // 100))
        marks.append(f"{nth:,} of {finding.found:,} after {finding.finds[nth - 1]:,}")
    return f"{finding.read:,} of {finding.records:,} records read; included: {', '.join(dict.fromkeys(marks))} records"
