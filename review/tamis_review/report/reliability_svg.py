"""The reliability curve as an SVG: what the decisions of each confidence came to, over how many there are."""

from dataclasses import dataclass
from html import escape

from ..quality.figure import Bin, Reliability
from .charts import svg_element

WIDTH, HEIGHT = 560, 520
LEFT, RIGHT = 56, 540
TOP, BOTTOM = 36, 376  # of the curve
FOOT, COLUMNS = 476, 64  # of the columns below it, and their height
GAP = 6  # between two columns


@dataclass(frozen=True)
class CurveWords:
    """The words of a curve: what is said, of what, and what came of it."""

    said: str  # under the axis
    counted: str
    title: str
    caption: str
    shared: str  # before a share


OF_CONFIDENCE = CurveWords(
    said="confidence",
    counted="decisions",
    title="Confidence, and the share of decisions that the human shares",
    caption="Decisions that the human shares, by confidence",
    shared="shared by the human",
)
OF_PROBABILITY = CurveWords(
    said="probability of inclusion",
    counted="records",
    title="Probability of inclusion, and the share of records that the human included",
    caption="Records that the human included, by probability",
    shared="included by the human",
)

# Alone the drawing brings its colours; in a page, the page's style sheet has them.
STYLE = """
svg{background:#ffffff;color-scheme:light dark}
text{font-family:Arial,Helvetica,"Liberation Sans",sans-serif;font-size:12px;fill:#55616a}
.grid{stroke:#d9dfe2}.axis{stroke:#9aa5ac}.ideal{stroke:#55616a;stroke-dasharray:5 4}
.point{fill:#1f7a68}.whisker,.curve{stroke:#1f7a68;fill:none}.curve{stroke-width:1.6}.bar{fill:#9aa5ac}
.caption{font-size:13px;fill:#1c2328}
@media (prefers-color-scheme:dark){
svg{background:#14191c}text{fill:#a0abb2}.grid{stroke:#2d363b}.axis{stroke:#56626a}.ideal{stroke:#a0abb2}
.point{fill:#4fb79c}.whisker,.curve{stroke:#4fb79c}.bar{fill:#56626a}.caption{fill:#e5e9eb}}
"""


def draw_reliability(reliability: Reliability, words: CurveWords = OF_CONFIDENCE, *, standalone: bool = True) -> str:
    """An SVG document; not `standalone`, an element for a page whose style sheet knows its classes."""
    used = [one for one in reliability.bins if one.n]
    drawn = [f"<style>{STYLE}</style>"] if standalone else []
    drawn += [*_axes(words), *_curve(used, words), *_columns(used, words), _caption(reliability, words)]
    described = "; ".join(_words(one, words) for one in used) or "no decision has a label"
    element = svg_element("reliability", words.title, described, WIDTH, HEIGHT, drawn)
    if not standalone:
        return element
    return element.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1) + "\n"


def _x(confidence: float) -> float:
    return LEFT + (RIGHT - LEFT) * confidence


def _y(share: float) -> float:
    return BOTTOM - (BOTTOM - TOP) * share


def _axes(words: CurveWords) -> list[str]:
    drawn = []
    for tenth in range(0, 11, 2):
        x, y = _x(tenth / 10), _y(tenth / 10)
        drawn += [
            f'<line class="grid" x1="{LEFT}" x2="{RIGHT}" y1="{y:g}" y2="{y:g}"/>',
            f'<text class="tick" x="{LEFT - 8}" y="{y + 4:g}" text-anchor="end">{tenth * 10}%</text>',
            f'<text class="tick" x="{x:g}" y="{FOOT + 18}" text-anchor="middle">{tenth / 10:.1f}</text>',
        ]
    return [
        *drawn,
        f'<line class="ideal" x1="{_x(0):g}" x2="{_x(1):g}" y1="{_y(0):g}" y2="{_y(1):g}"/>',
        f'<line class="axis" x1="{LEFT}" x2="{RIGHT}" y1="{FOOT}" y2="{FOOT}"/>',
        f'<text class="tick" x="{(LEFT + RIGHT) / 2:g}" y="{FOOT + 38}" text-anchor="middle">{words.said}</text>',
        f'<text class="tick" x="{LEFT}" y="{BOTTOM + 15}">{words.counted}</text>',
    ]


def _curve(used: list[Bin], words: CurveWords) -> list[str]:
    """A point for each bin at the mean of its confidences, with the interval of its share."""
    places: list[str] = []
    drawn: list[str] = []
    for one in used:
        share = one.right
        if one.confidence is None or share.estimate is None:
            continue
        x, y = _x(one.confidence), _y(share.estimate)
        places.append(f"{x:.1f},{y:.1f}")
        if share.low is not None and share.high is not None:
            ends = f'y1="{_y(share.low):.1f}" y2="{_y(share.high):.1f}"'
            drawn.append(f'<line class="whisker" x1="{x:.1f}" x2="{x:.1f}" {ends}/>')
        about = escape(_words(one, words))
        drawn.append(f'<circle class="point" cx="{x:.1f}" cy="{y:.1f}" r="4.5"><title>{about}</title></circle>')
    return [f'<polyline class="curve" points="{" ".join(places)}"/>', *drawn]


def _columns(used: list[Bin], words: CurveWords) -> list[str]:
    most = max((one.n for one in used), default=1)
    drawn = []
    for one in used:
        left, right, height = _x(one.low), _x(one.high), COLUMNS * one.n / most
        drawn += [
            f'<rect class="bar" x="{left + GAP / 2:.1f}" y="{FOOT - height:.1f}" width="{right - left - GAP:.1f}" '
            f'height="{height:.1f}"><title>{escape(_words(one, words))}</title></rect>',
            f'<text class="tick" x="{(left + right) / 2:.1f}" y="{FOOT - height - 4:.1f}" '
            f'text-anchor="middle">{one.n:,}</text>',
        ]
    return drawn


def _caption(reliability: Reliability, words: CurveWords) -> str:
    caption = "no decision has a label"
    if reliability.ece.value is not None:
        caption = f"{words.caption}; expected calibration error {reliability.ece.value:.3f}"
    return f'<text class="caption" x="{LEFT}" y="20">{caption}</text>'


def _words(one: Bin, words: CurveWords) -> str:
    share = one.right
    if one.confidence is None or share.estimate is None:
        return f"{words.said} {one.low:.1f} to {one.high:.1f}: no {words.counted}"
    between = "" if share.low is None or share.high is None else f" ({share.low:.1%} to {share.high:.1%})"
    mean = f"mean {words.said} {one.confidence:.2f}"
    return (
        f"{words.said} {one.low:.1f} to {one.high:.1f}: {one.n:,} {words.counted}, {mean}, "
        f"{words.shared} {share.estimate:.1%}{between}"
    )
