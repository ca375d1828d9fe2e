"""The reading curves of several reviews as one SVG: the share of includes found by the share of records read."""

from collections.abc import Mapping, Sequence
from html import escape
from statistics import median
from typing import Any

from tamis_review.report.charts import svg_element

from .reading_replay_table import SETS, Runs

WIDTH, HEIGHT = 880, 680
PANEL_WIDTH, PANEL_HEIGHT = 356, 220
LEFT, TOP, ACROSS, DOWN = 62, 56, 424, 300  # of the first panel, and from one to the next
STEPS = 200  # places at which the curves of the seeds are compared
LEGEND = 636

# As in the report's page; alone the drawing brings its colours.
STYLE = """
svg{background:#ffffff;color-scheme:light dark}
text{font-family:Arial,Helvetica,"Liberation Sans",sans-serif;font-size:12px;fill:#55616a}
.caption{font-size:13px;font-weight:bold;fill:#1c2328}.grid{stroke:#d9dfe2}.axis{stroke:#9aa5ac}
.ideal{stroke:#55616a;stroke-dasharray:2 4}.level{stroke:#55616a;stroke-dasharray:5 4}
.curve{fill:none;stroke-width:2}.band{stroke:none;opacity:.22}
.tamis{stroke:#1f7a68;color:#1f7a68}.asreview{stroke:#9a6410;color:#9a6410;stroke-dasharray:7 3}.band{fill:currentColor}
@media (prefers-color-scheme:dark){
svg{background:#14191c}text{fill:#a0abb2}.caption{fill:#e5e9eb}.grid{stroke:#2d363b}.axis{stroke:#56626a}
.ideal,.level{stroke:#a0abb2}.tamis{stroke:#4fb79c;color:#4fb79c}.asreview{stroke:#dda24a;color:#dda24a}}
"""


def draw_curves(found: Mapping[str, Runs], asreview: Mapping[str, Runs], labels: Mapping[str, Sequence[bool]]) -> str:
    """Return an SVG document with a panel for each of the first four cases that ASReview has run too.

    `labels`: the labels of each case, in the order of the records.
    """
    shown = [name for name in found if name.partition(", ")[0] in asreview][:4]
    drawn = [f"<style>{STYLE}</style>"]
    words = []
    for place, name in enumerate(shown):
        key, _, judge = name.partition(", ")
        curves = [_curves(runs, labels[name]) for runs in (found[name], asreview[key])]
        drawn += _panel(place, f"{SETS[key]}, {judge}", *curves)
        ours, theirs = (median(one["read_95"] for one in runs.values()) for runs in (found[name], asreview[key]))
        words.append(f"{SETS[key]}, {judge}: 95 % found after {ours:.1%}, by ASReview after {theirs:.1%}")
    drawn += _legend()
    element = svg_element("reading", "Includes found by records read", "; ".join(words), WIDTH, HEIGHT, drawn)
    return element.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1) + "\n"


def _curves(runs: Runs, labels: Sequence[bool]) -> list[list[float]]:
    """Return for each seed the share of includes found at each step."""
    return [_curve(one, labels) for one in runs.values()]


def _curve(run: Mapping[str, Any], labels: Sequence[bool]) -> list[float]:
    found = [0]
    for row in run["order"]:
        found.append(found[-1] + labels[row])
    found += [found[-1]] * (len(labels) + 1 - len(found))  # every include is found by then
    return [found[round(step / STEPS * len(labels))] / sum(labels) for step in range(STEPS + 1)]


def _panel(place: int, title: str, ours: list[list[float]], theirs: list[list[float]]) -> list[str]:
    left, top = LEFT + place % 2 * ACROSS, TOP + place // 2 * DOWN
    bottom, right = top + PANEL_HEIGHT, left + PANEL_WIDTH

    def x(share: float) -> float:
        return left + PANEL_WIDTH * share

    def y(share: float) -> float:
        return bottom - PANEL_HEIGHT * share

    drawn = [f'<text class="caption" x="{left}" y="{top - 14}">{escape(title)}</text>']
    for fifth in range(6):
        share = fifth / 5
        drawn += [
            f'<line class="grid" x1="{left}" x2="{right}" y1="{y(share):g}" y2="{y(share):g}"/>',
            f'<text x="{left - 8}" y="{y(share) + 4:g}" text-anchor="end">{share:.0%}</text>',
            f'<text x="{x(share):g}" y="{bottom + 18}" text-anchor="middle">{share:.0%}</text>',
        ]
    drawn += [
        f'<line class="axis" x1="{left}" x2="{right}" y1="{bottom}" y2="{bottom}"/>',
        f'<line class="ideal" x1="{x(0):g}" y1="{y(0):g}" x2="{x(1):g}" y2="{y(1):g}"/>',
        f'<line class="level" x1="{left}" x2="{right}" y1="{y(0.95):g}" y2="{y(0.95):g}"/>',
    ]
    for kind, curves in (("asreview", theirs), ("tamis", ours)):
        at_each = list(zip(*curves, strict=True))
        shares = [step / STEPS for step in range(STEPS + 1)]
        around = [(x(share), y(max(at))) for share, at in zip(shares, at_each, strict=True)]
        around += reversed([(x(share), y(min(at))) for share, at in zip(shares, at_each, strict=True)])
        middle = [(x(share), y(median(at))) for share, at in zip(shares, at_each, strict=True)]
        drawn.append(f'<g class="{kind}"><polygon class="band" points="{_points(around)}"/></g>')
        drawn.append(f'<polyline class="curve {kind}" points="{_points(middle)}"/>')
    return drawn


def _points(corners: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in corners)


def _legend() -> list[str]:
    """Return the legend: the kinds of lines with their names, and the meaning of the axes."""
    told = (("curve tamis", "Tamis"), ("curve asreview", "ASReview"), ("level", "95 %"), ("ideal", "any order"))
    drawn = []
    for place, (kind, name) in enumerate(told):
        left = LEFT + place * 120
        drawn += [
            f'<line class="{kind}" x1="{left}" x2="{left + 32}" y1="{LEGEND}" y2="{LEGEND}"/>',
            f'<text x="{left + 40}" y="{LEGEND + 4}">{name}</text>',
        ]
    return [
        *drawn,
        f'<text x="{LEFT}" y="{LEGEND + 28}">Across: records read. Up: included records found. Lines: the median of '
        "the seeds; shades: from the worst to the best of them.</text>",
    ]
