"""The report's charts as SVG elements; the page's style sheet colours them by their classes."""

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape

from tamis_schemas import Proportion

from ..quality.figure import Bin, Reliability
from .figures import BINS, ConfidenceSeries, FindingFigures


@dataclass(frozen=True)
class Plot:
    """The size of a chart, and the edges of its drawing area."""

    width: int
    height: int
    left: int
    right: int
    top: int
    bottom: int

    def x(self, share: float) -> float:
        """Return the x coordinate at a share of the plot's width: 0 is the left edge, 1 the right."""
        return self.left + (self.right - self.left) * share

    def y(self, share: float) -> float:
        """Return the y coordinate at a share of the plot's height: 0 is the bottom edge, 1 the top."""
        return self.bottom - (self.bottom - self.top) * share


HISTOGRAM = Plot(width=640, height=236, left=46, right=640, top=12, bottom=196)
FINDING = Plot(width=640, height=300, left=46, right=628, top=34, bottom=240)
RELIABILITY = Plot(width=560, height=520, left=56, right=540, top=36, bottom=376)
FOOT, COLUMNS = 476, 64  # foot of the columns below the reliability curve, and their height
GAP = 6  # between two columns

# A standalone reliability curve has its own colours; in a page, the style sheet has them.
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


def histogram(series: tuple[ConfidenceSeries, ...], names: dict[str, str]) -> str:
    """Return an SVG histogram of records by confidence: ten columns, stacked by outcome.

    `series`: the records with each outcome, by tenths of confidence. `names`: outcome -> its name for people.
    """
    plot, most = HISTOGRAM, max((sum(row.bins[place] for row in series) for place in range(BINS)), default=0)
    step = grid_step(most)
    top = max(step, -(-most // step) * step)
    slot = (plot.right - plot.left) / BINS
    drawn = _grid(plot, range(0, top + 1, step), top)
    for place in range(BINS):
        y = float(plot.bottom)
        for row in series:
            height = (plot.bottom - plot.top) * row.bins[place] / top
            if not height:
                continue
            y -= height
            title = f"{names[row.outcome]}, confidence {_range(place)}: {row.bins[place]:,}"
            drawn.append(
                f'<rect class="bar {row.outcome}" x="{plot.left + place * slot + GAP / 2:g}" y="{y:g}" '
                f'width="{slot - GAP:g}" height="{height:g}"><title>{escape(title)}</title></rect>'
            )
    for place in range(BINS + 1):
        x = min(plot.left + place * slot, plot.width - 8)
        drawn.append(_tick(f"{x:g}", plot.bottom + 18, f"{place / BINS:.1f}"))
    drawn.append(_tick(f"{plot.x(0.5):g}", plot.height - 4, "confidence"))
    words = "; ".join(
        f"{names[row.outcome]}: "
        + ", ".join(f"{row.bins[place]:,} at {_range(place)}" for place in range(BINS) if row.bins[place])
        for row in series
    )
    return svg_element("histogram", "Records by confidence", words, plot.width, plot.height, drawn)


def interval(share: Proportion, name: str = "interval", title: str = "Pass rate") -> str:
    """Return an SVG drawing of a proportion and its interval, on a line from 0 to 100 %.

    Return "" if the proportion has no estimate or no interval.
    """
    if share.estimate is None or share.low is None or share.high is None:
        return ""
    width, inset = 360, 20
    room = width - 2 * inset
    low, at, high = (inset + room * value for value in (share.low, share.estimate, share.high))
    drawn = [_line("axis", inset, width - inset, 16, 16)]
    for percent in (0, 25, 50, 75, 100):
        x = f"{inset + room * percent / 100:g}"
        drawn += [_line("axis", x, x, 12, 20), _tick(x, 36, f"{percent}%")]
    drawn.append(f'<rect class="range" x="{low:.2f}" y="11" width="{max(high - low, 1):.2f}" height="10" rx="2"/>')
    drawn.append(f'<circle class="point" cx="{at:.2f}" cy="16" r="4.5"/>')
    words = f"{share.estimate:.1%}, {share.level:.0%} interval from {share.low:.1%} to {share.high:.1%}"
    return svg_element(name, title, words, width, 40, drawn)


def draw_finding(finding: FindingFigures, name: str = "finding") -> str:
    """Return an SVG drawing of the curve of finding: the number of includes found, by the number of records read.

    `name`: unique among the drawings of a page.
    """
    plot, top, across = FINDING, max(finding.found, 1), max(finding.records, 1)
    drawn = []
    if finding.read < finding.records:
        at = plot.x(finding.read / across)
        width = plot.right - at
        words = f"unread: {finding.records - finding.read:,}"
        drawn.append(
            f'<rect class="unread" x="{at:.1f}" y="{plot.top}" width="{width:.1f}" height="{plot.bottom - plot.top}">'
            f"<title>{words}</title></rect>"
        )
        if width > 7 * len(words):  # about the width of the words
            drawn.append(_tick(f"{at + width / 2:.1f}", plot.bottom - 14, words))
    drawn += _grid(plot, range(0, finding.found + 1, grid_step(top)), top)
    for value in range(0, finding.records + 1, grid_step(across)):
        x = plot.x(value / across)
        drawn.append(_tick(f"{x:.1f}", plot.bottom + 18, f"{value:,}", "end" if x > plot.right - 24 else "middle"))
    middle, end = f"{plot.x(0.5):g}", (finding.read / across, finding.found / top)
    order = "in their" if finding.ordered else "in an unknown"
    caption = f"{finding.found:,} included among the {finding.read:,} of {finding.records:,} records that people read"
    drawn += [
        _line("axis", plot.left, plot.right, plot.bottom, plot.bottom),
        _tick(middle, plot.bottom + 38, f"records read by people, {order} order"),
        _tick(middle, plot.bottom + 54, "dashed: the same number in random order"),
        f'<line class="ideal" x1="{plot.x(0):g}" y1="{plot.y(0):g}" x2="{plot.x(1):g}" y2="{plot.y(end[1]):g}"/>',
        f'<polyline class="curve" points="{" ".join(_corners(plot, finding, top, across))}"/>',
        f'<circle class="point" cx="{plot.x(end[0]):.1f}" cy="{plot.y(end[1]):.1f}" r="4.5"/>',
        f'<text class="caption" x="{plot.left}" y="18">{escape(caption)}</text>',
    ]
    return svg_element(name, "The curve of finding", _finding_words(finding), plot.width, plot.height, drawn)


def _corners(plot: Plot, finding: FindingFigures, top: int, across: int) -> list[str]:
    """Return the corners of the curve of finding as texts `x,y`. The curve rises by one at each include.

    If the order of reading is unknown, return only the curve's two ends. `top`, `across`: the numbers of includes and
    records at the plot's top and right edges.
    """
    corners = [(0, 0)]
    for nth, read in enumerate(finding.finds if finding.ordered else (), 1):
        corners += [(read, nth - 1), (read, nth)]
    corners.append((finding.read, finding.found))
    return list(dict.fromkeys(f"{plot.x(read / across):.1f},{plot.y(count / top):.1f}" for read, count in corners))


def _finding_words(finding: FindingFigures) -> str:
    if not finding.finds:
        return f"{finding.read:,} records read, none included"
    if not finding.ordered:
        return f"{finding.read:,} of {finding.records:,} records read, in unknown order; {finding.found:,} included"
    marks = []
    for share in (0.5, 0.8, 0.95, 1.0):
        nth = max(1, -(-int(share * 100) * finding.found // 100))
        marks.append(f"{nth:,} of {finding.found:,} after {finding.finds[nth - 1]:,}")
    return f"{finding.read:,} of {finding.records:,} records read; included: {', '.join(dict.fromkeys(marks))} records"


@dataclass(frozen=True)
class CurveWords:
    """The labels of a reliability curve."""

    said: str  # the name of the measure, written under the axis
    counted: str  # the noun for what is counted, such as "records"
    title: str
    caption: str
    shared: str  # the words before a bin's share


OF_CONFIDENCE = CurveWords(
    said="confidence",
    counted="decisions",
    title="Confidence, and the share of decisions with which the human agrees",
    caption="Human agreement with decisions, by confidence",
    shared="agreement of the human",
)
OF_PROBABILITY = CurveWords(
    said="probability of inclusion",
    counted="records",
    title="Probability of inclusion, and the share of records that the human included",
    caption="Records that the human included, by probability",
    shared="included by the human",
)


def draw_reliability(reliability: Reliability, words: CurveWords = OF_CONFIDENCE, *, standalone: bool = True) -> str:
    """Return the reliability curve as SVG. Columns below the curve show the number of decisions in each bin.

    If `standalone` is False, the result is an element for a page whose style sheet defines the classes. Otherwise it is
    a whole SVG document.
    """
    plot, used = RELIABILITY, [group for group in reliability.bins if group.n]
    drawn = [f"<style>{STYLE}</style>"] if standalone else []
    for tenth in range(0, 11, 2):
        drawn += _grid_line(plot, plot.y(tenth / 10), f"{tenth * 10}%")
        drawn.append(_tick(f"{plot.x(tenth / 10):g}", FOOT + 18, f"{tenth / 10:.1f}"))
    caption = "no decision has a label"
    if reliability.ece.value is not None:
        caption = f"{words.caption}; expected calibration error {reliability.ece.value:.3f}"
    drawn += [
        _line("ideal", f"{plot.x(0):g}", f"{plot.x(1):g}", f"{plot.y(0):g}", f"{plot.y(1):g}"),
        _line("axis", plot.left, plot.right, FOOT, FOOT),
        _tick(f"{plot.x(0.5):g}", FOOT + 38, words.said),
        f'<text class="tick" x="{plot.left}" y="{plot.bottom + 15}">{words.counted}</text>',
        *_curve(plot, used, words),
        *_columns(plot, used, words),
        f'<text class="caption" x="{plot.left}" y="20">{caption}</text>',
    ]
    described = "; ".join(_bin_words(group, words) for group in used) or "no decision has a label"
    element = svg_element("reliability", words.title, described, plot.width, plot.height, drawn)
    return element.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1) + "\n" if standalone else element


def _curve(plot: Plot, used: list[Bin], words: CurveWords) -> list[str]:
    """Return the SVG elements of a reliability curve, with a point and an interval for each bin of confidence.

    A point's height is the share of right decisions in the bin. A point's x coordinate is the bin's mean confidence.
    """
    places: list[str] = []
    drawn: list[str] = []
    for group in used:
        share = group.right
        if group.confidence is None or share.estimate is None:
            continue
        x, y = f"{plot.x(group.confidence):.1f}", f"{plot.y(share.estimate):.1f}"
        places.append(f"{x},{y}")
        if share.low is not None and share.high is not None:
            drawn.append(_line("whisker", x, x, f"{plot.y(share.low):.1f}", f"{plot.y(share.high):.1f}"))
        about = escape(_bin_words(group, words))
        drawn.append(f'<circle class="point" cx="{x}" cy="{y}" r="4.5"><title>{about}</title></circle>')
    return [f'<polyline class="curve" points="{" ".join(places)}"/>', *drawn]


def _columns(plot: Plot, used: list[Bin], words: CurveWords) -> Iterator[str]:
    most = max((group.n for group in used), default=1)
    for group in used:
        left, right, height = plot.x(group.low), plot.x(group.high), COLUMNS * group.n / most
        yield (
            f'<rect class="bar" x="{left + GAP / 2:.1f}" y="{FOOT - height:.1f}" width="{right - left - GAP:.1f}" '
            f'height="{height:.1f}"><title>{escape(_bin_words(group, words))}</title></rect>'
        )
        yield _tick(f"{(left + right) / 2:.1f}", f"{FOOT - height - 4:.1f}", f"{group.n:,}")


def _bin_words(group: Bin, words: CurveWords) -> str:
    share = group.right
    if group.confidence is None or share.estimate is None:
        return f"{words.said} {group.low:.1f} to {group.high:.1f}: no {words.counted}"
    between = "" if share.low is None or share.high is None else f" ({share.low:.1%} to {share.high:.1%})"
    mean = f"mean {words.said} {group.confidence:.2f}"
    return (
        f"{words.said} {group.low:.1f} to {group.high:.1f}: {group.n:,} {words.counted}, {mean}, "
        f"{words.shared} {share.estimate:.1%}{between}"
    )


def svg_element(name: str, title: str, words: str, width: int, height: int, drawn: list[str]) -> str:
    """Return an `<svg>` element with a title, and with a description for screen readers (`words`).

    `name`: unique among the drawings of a page, for ids and a CSS class. `drawn`: the elements inside.
    """
    return (
        f'<svg class="chart {name}" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" '
        f'aria-labelledby="{name}-title {name}-words"><title id="{name}-title">{escape(title)}</title>'
        f'<desc id="{name}-words">{escape(words)}</desc>{"".join(drawn)}</svg>'
    )


def grid_step(most: int) -> int:
    """Return the distance between grid lines: 1, 2 or 5 times a power of ten. Five distances are at least `most`."""
    step = 1
    while most > 5 * step:
        step = step * 5 // 2 if str(step)[0] == "2" else step * 2
    return step


def _grid(plot: Plot, values: range, top: int) -> list[str]:
    """Return a horizontal line for each value, with the value as text at the line's left end.

    `top`: the value at the plot's top edge.
    """
    return [part for value in values for part in _grid_line(plot, plot.y(value / top), f"{value:,}")]


def _grid_line(plot: Plot, y: float, text: str) -> tuple[str, str]:
    return _line("grid", plot.left, plot.right, f"{y:g}", f"{y:g}"), _tick(plot.left - 8, f"{y + 4:g}", text, "end")


def _line(kind: str, x1: int | str, x2: int | str, y1: int | str, y2: int | str) -> str:
    return f'<line class="{kind}" x1="{x1}" x2="{x2}" y1="{y1}" y2="{y2}"/>'


def _tick(x: int | str, y: int | str, text: str, anchor: str = "middle") -> str:
    return f'<text class="tick" x="{x}" y="{y}" text-anchor="{anchor}">{text}</text>'


def _range(place: int) -> str:
    return f"{place / BINS:.1f} to {(place + 1) / BINS:.1f}"
