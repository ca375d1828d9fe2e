"""The report's charts as SVG elements; the page's style sheet colours them by their classes."""

from html import escape

from tamis_schemas import Proportion

from .figures import BINS, ConfidenceSeries

WIDTH, HEIGHT = 640, 236
LEFT, TOP, BOTTOM = 46, 12, 40  # room for the axes' labels
GAP = 6  # between two columns


def histogram(series: tuple[ConfidenceSeries, ...], names: dict[str, str]) -> str:
    """Columns of records by confidence, a tenth each, stacked by outcome; `names` says how an outcome is called."""
    totals = [sum(one.bins[place] for one in series) for place in range(BINS)]
    step = grid_step(max(totals, default=0))
    top = max(step, -(-max(totals, default=0) // step) * step)
    plot = HEIGHT - TOP - BOTTOM
    slot = (WIDTH - LEFT) / BINS
    drawn = []
    for value in range(0, top + 1, step):
        y = TOP + plot * (1 - value / top)
        drawn.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH}" y1="{y:g}" y2="{y:g}"/>')
        drawn.append(f'<text class="tick" x="{LEFT - 8}" y="{y + 4:g}" text-anchor="end">{value:,}</text>')
    for place in range(BINS):
        y = TOP + plot
        for one in series:
            height = plot * one.bins[place] / top
            if not height:
                continue
            y -= height
            title = f"{names[one.outcome]}, confidence {_range(place)}: {one.bins[place]:,}"
            drawn.append(
                f'<rect class="bar {one.outcome}" x="{LEFT + place * slot + GAP / 2:g}" y="{y:g}" '
                f'width="{slot - GAP:g}" height="{height:g}"><title>{escape(title)}</title></rect>'
            )
    for place in range(BINS + 1):
        x = LEFT + place * slot
        drawn.append(
            f'<text class="tick" x="{min(x, WIDTH - 8):g}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">'
            f"{place / BINS:.1f}</text>"
        )
    drawn.append(
        f'<text class="tick" x="{(LEFT + WIDTH) / 2:g}" y="{HEIGHT - 4}" text-anchor="middle">confidence</text>'
    )
    words = "; ".join(
        f"{names[one.outcome]}: "
        + ", ".join(f"{one.bins[place]:,} at {_range(place)}" for place in range(BINS) if one.bins[place])
        for one in series
    )
    return svg_element("histogram", "Records by confidence", words, WIDTH, HEIGHT, drawn)


def interval(share: Proportion, name: str = "interval", title: str = "Pass rate") -> str:
    """A proportion on a line from 0 to 100 %, with its interval."""
    if share.estimate is None or share.low is None or share.high is None:
        return ""
    width, inset = 360, 20
    room = width - 2 * inset
    low, at, high = (inset + room * value for value in (share.low, share.estimate, share.high))
    drawn = [f'<line class="axis" x1="{inset}" x2="{width - inset}" y1="16" y2="16"/>']
    for percent in (0, 25, 50, 75, 100):
        x = inset + room * percent / 100
        drawn.append(f'<line class="axis" x1="{x:g}" x2="{x:g}" y1="12" y2="20"/>')
        drawn.append(f'<text class="tick" x="{x:g}" y="36" text-anchor="middle">{percent}%</text>')
    drawn.append(f'<rect class="range" x="{low:.2f}" y="11" width="{max(high - low, 1):.2f}" height="10" rx="2"/>')
    drawn.append(f'<circle class="point" cx="{at:.2f}" cy="16" r="4.5"/>')
    words = f"{share.estimate:.1%}, {share.level:.0%} interval from {share.low:.1%} to {share.high:.1%}"
    return svg_element(name, title, words, width, 40, drawn)


def svg_element(name: str, title: str, words: str, width: int, height: int, drawn: list[str]) -> str:
    """A drawing with a name, a title, and words for who does not see it."""
    return (
        f'<svg class="chart {name}" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" '
        f'aria-labelledby="{name}-title {name}-words"><title id="{name}-title">{escape(title)}</title>'
        f'<desc id="{name}-words">{escape(words)}</desc>{"".join(drawn)}</svg>'
    )


def _range(place: int) -> str:
    return f"{place / BINS:.1f} to {(place + 1) / BINS:.1f}"


def grid_step(most: int) -> int:
    """The distance of grid lines: 1, 2 or 5 times a power of ten, so that there are at most five."""
    step = 1
    while most > 5 * step:
        digits = str(step)
        step = step * 5 // 2 if digits[0] == "2" else step * 2
    return step
