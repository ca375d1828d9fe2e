"""The PRISMA 2020 flow as SVG text: drawn here, from the numbers alone."""

import re
from dataclasses import dataclass
from html import escape

from tamis_schemas.batches.flow import Flow

from .steps import IDENTIFICATION, INCLUDED, Box, Step, steps
from .text_width import ELLIPSIS, width, wrapped

# All lengths are in the drawing's own units, which are CSS pixels at its natural size.
BAND = 26.0  # the phase at the left
MAIN_X, MAIN_WIDTH = 46.0, 360.0
SIDE_X, SIDE_WIDTH = 462.0, 420.0
WIDTH = SIDE_X + SIDE_WIDTH + 2
PADDING = 13.0
GAP = 30.0  # between two steps: room for an arrow
SIDE_GAP = 14.0
INDENT = 14.0
HANGING = 10.0  # of a text's second line and those after it
TITLE_SIZE, TEXT_SIZE, LEADING = 13.5, 12.5, 17.5
BOLD = 1.06  # how much wider bold text is
MOST_LINES = 3  # of one text; what does not fit is in its `<title>`, and in the table
MOST = 12  # parts of a box in the drawing; the table beside it has all

_NO_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")

# On its own the drawing is light, on white, wherever it is placed; in a page, the page says its colours.
STYLE = """
text{font-family:Arial,Helvetica,"Liberation Sans",sans-serif;fill:#1c2328}
.flow-paper{fill:#ffffff}
.flow-box{fill:#ffffff;stroke:#5b6770;stroke-width:1}
.flow-main{stroke:#1f5f5b;stroke-width:1.4}
.flow-band{fill:#dcebe9}
.flow-phase{font-size:12px;font-weight:700;fill:#1f5f5b;letter-spacing:.03em}
.flow-title{font-size:13.5px;font-weight:700}
.flow-text{font-size:12.5px}
.flow-part{fill:#4a555d}
.flow-arrow{stroke:#5b6770;stroke-width:1.2;fill:none}
.flow-head{fill:#5b6770}
"""


@dataclass(frozen=True)
class _Run:
    """One line of text in a box, at `indent` from its padding."""

    text: str
    style: str
    indent: float
    whole: str | None = None  # what it was before it was cut


@dataclass(frozen=True)
class _Placed:
    """A box with its text, where it stands."""

    x: float
    y: float
    width: float
    runs: tuple[_Run, ...]
    style: str
    least: float = 0.0  # height

    @property
    def height(self) -> float:
        return max(self.least, 2 * PADDING + LEADING * len(self.runs) - (LEADING - TEXT_SIZE))

    @property
    def bottom(self) -> float:
        return self.y + self.height

    @property
    def middle(self) -> float:
        return self.y + self.height / 2


def draw(flow: Flow, *, title: str = "PRISMA 2020 flow diagram", standalone: bool = True) -> str:
    """An SVG document, or, not `standalone`, an `<svg>` element for a page whose style sheet knows its classes.

    The text is text: it can be selected and searched. `<desc>` says the whole flow in words.
    """
    shown = steps(flow, MOST)
    parts: list[str] = []
    bands: list[tuple[str, float, float]] = []
    above: _Placed | None = None
    y = 1.0
    for step in shown:
        room_for_phase = width(step.phase, 12) * BOLD + 12
        main = _Placed(
            MAIN_X,
            y,
            MAIN_WIDTH,
            _runs(step.box, MAIN_WIDTH),
            "flow-box flow-main",
            room_for_phase * (step.phase == INCLUDED),
        )
        sides = _side_boxes(step, y)
        if above is not None:
            parts.append(_arrow(MAIN_X + MAIN_WIDTH / 2, above.bottom, MAIN_X + MAIN_WIDTH / 2, main.y))
        for side in sides:
            start, at = _branch(main, side)
            parts.append(_arrow(start, at, SIDE_X, at))
        parts += [_box(placed) for placed in (main, *sides)]
        # The phases of one step: their names need room, too.
        room = y + room_for_phase * (step.phase == IDENTIFICATION)
        bottom = max(room, *(placed.bottom for placed in (main, *sides)))
        if bands and bands[-1][0] == step.phase:
            bands[-1] = (step.phase, bands[-1][1], bottom)
        else:
            bands.append((step.phase, y, bottom))
        above, y = main, bottom + GAP
    height = y - GAP + 1
    drawn = "\n".join([*(_band(*band) for band in bands), *parts])
    return _document(drawn, height, title, in_words(shown), standalone)


def in_words(shown: tuple[Step, ...]) -> str:
    """The flow as sentences, for whoever hears it."""
    sentences = []
    for step in shown:
        for box in (step.box, *step.sides):
            parts = "; ".join(line.text if line.n is None else f"{line.text}: {line.n:,}" for line in box.lines)
            sentences.append(f"{box.title}: {box.n:,}" + (f" ({parts})." if parts else "."))
    return " ".join(sentences)


def _side_boxes(step: Step, y: float) -> list[_Placed]:
    placed: list[_Placed] = []
    for box in step.sides:
        placed.append(_Placed(SIDE_X, y, SIDE_WIDTH, _runs(box, SIDE_WIDTH), "flow-box"))
        y = placed[-1].bottom + SIDE_GAP
    return placed


def _branch(main: _Placed, side: _Placed) -> tuple[float, float]:
    """Return the start and the height of the arrow to a side box: at the box, or at the line that leads on below it."""
    if side.y < main.bottom:
        return main.x + main.width, min(main.middle, side.middle)
    return main.x + main.width / 2, side.middle


def _runs(box: Box, box_width: float) -> tuple[_Run, ...]:
    room = box_width - 2 * PADDING
    runs = _counted(box.title, box.n, TITLE_SIZE * BOLD, room, "flow-title", 0)
    for line in box.lines:
        indent = INDENT * line.depth
        style = "flow-text flow-part" if line.depth else "flow-text"
        runs += _counted(line.text, line.n, TEXT_SIZE, room - indent, style, indent)
    return tuple(runs)


def _counted(text: str, n: int | None, size: float, room: float, style: str, indent: float) -> list[_Run]:
    """A text with its number, which stays whole whatever has to be cut from the text."""
    hanging = 0 if style == "flow-title" else HANGING
    lines = wrapped(text, size, room - hanging, MOST_LINES)
    if n is not None:
        number = f"(n\u00a0=\u00a0{n:,})"
        if width(f"{lines[-1]} {number}", size) <= room - hanging:
            lines[-1] = f"{lines[-1]} {number}".strip()
        elif len(lines) < MOST_LINES:
            lines.append(number)
        else:
            left = room - hanging - width(f"{ELLIPSIS} {number}", size)
            lines[-1] = f"{wrapped(lines[-1].rstrip(ELLIPSIS), size, left, 1)[0].rstrip(ELLIPSIS)}{ELLIPSIS} {number}"
    cut = text if ELLIPSIS in "".join(lines) and ELLIPSIS not in text else None
    return [_Run(line, style, indent + (hanging if place else 0), cut) for place, line in enumerate(lines)]


def _box(placed: _Placed) -> str:
    drawn = [
        f'<rect class="{placed.style}" x="{placed.x:g}" y="{placed.y:g}" width="{placed.width:g}" '
        f'height="{placed.height:g}" rx="3"/>'
    ]
    top = (placed.height - LEADING * len(placed.runs) + LEADING - TEXT_SIZE) / 2
    for number, run in enumerate(placed.runs):
        x, y = placed.x + PADDING + run.indent, placed.y + top + TEXT_SIZE * 0.85 + LEADING * number
        whole = f"<title>{_text(run.whole)}</title>" if run.whole else ""
        drawn.append(f'<text class="{run.style}" x="{x:g}" y="{y:g}">{whole}{_text(run.text)}</text>')
    return "\n".join(drawn)


def _band(phase: str, top: float, bottom: float) -> str:
    middle = (top + bottom) / 2
    return (
        f'<rect class="flow-band" x="1" y="{top:g}" width="{BAND:g}" height="{bottom - top:g}" rx="3"/>\n'
        f'<text class="flow-phase" text-anchor="middle" transform="translate({BAND / 2 + 5:g} {middle:g}) rotate(-90)">'
        f"{_text(phase)}</text>"
    )


def _arrow(x: float, y: float, to_x: float, to_y: float) -> str:
    if x == to_x:
        head = f"{to_x:g},{to_y:g} {to_x - 4:g},{to_y - 8:g} {to_x + 4:g},{to_y - 8:g}"
        line = f"M{x:g} {y:g}V{to_y - 7:g}"
    else:
        head = f"{to_x:g},{to_y:g} {to_x - 8:g},{to_y - 4:g} {to_x - 8:g},{to_y + 4:g}"
        line = f"M{x:g} {y:g}H{to_x - 7:g}"
    return f'<path class="flow-arrow" d="{line}"/><polygon class="flow-head" points="{head}"/>'


def _document(drawn: str, height: float, title: str, words: str, standalone: bool) -> str:
    size = f'viewBox="0 0 {WIDTH:g} {height:g}" width="{WIDTH:g}" height="{height:g}"'
    head = '<?xml version="1.0" encoding="UTF-8"?>\n' if standalone else ""
    space = ' xmlns="http://www.w3.org/2000/svg"' if standalone else ""
    style = f"<style>{STYLE}</style>\n" if standalone else ""
    paper = '<rect class="flow-paper" width="100%" height="100%"/>\n' if standalone else ""
    return (
        f'{head}<svg{space} class="flow" {size} role="img" aria-labelledby="flow-title flow-words">\n'
        f'<title id="flow-title">{_text(title)}</title>\n<desc id="flow-words">{_text(words)}</desc>\n'
        f"{style}{paper}{drawn}\n</svg>\n"
    )


def _text(text: str) -> str:
    """Return the text for XML, without the characters that XML cannot hold at all."""
    return escape(_NO_XML.sub("", text))
