"""The PRISMA 2020 flow as SVG text, drawn from the numbers alone."""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from html import escape

from tamis_schemas.batches.flow import BY_HUMAN, Flow

from .flow_template import IDENTIFICATION, INCLUDED, Box, FlowTemplate, Step, flow_template

# All lengths are in the drawing's own units: CSS pixels at its natural size.
BAND = 26.0  # width of the phase at the left
PADDING = 13.0
INDENT = 14.0
HANGING = 10.0  # indent of a text's second and later lines
TITLE_SIZE, TEXT_SIZE, LEADING = 13.5, 12.5, 17.5
BOLD = 1.06  # width of bold text, relative to regular text
MOST_LINES = 3  # maximum lines of a text; the full text is in its `<title>` and in the table
HEADING_HEIGHT = 28.0

# Text is measured without a browser, to size the boxes. The widths are Arial's and Helvetica's, in thousandths of the
# font's size, rounded up by group. `SLACK` allows for slightly wider fonts.
SLACK = 1.06
_GROUPS = {
    222: "ijl'|\u2018\u2019",
    278: "ftI.,:;/\\![] \u00a0",
    334: 'r-()`{}"',
    500: "ckvxyzsJ",
    833: "mM%",
    1000: "W@\u2014\u2026",
}
_KNOWN = {character: thousandths for thousandths, group in _GROUPS.items() for character in group}
ELLIPSIS = "\u2026"

_NO_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


@dataclass(frozen=True)
class _Run:
    """One line of text in a box. `indent`: the distance from the box's padding."""

    text: str
    style: str
    indent: float
    whole: str | None = None  # the text before it was cut


@dataclass(frozen=True)
class Placed:
    """A box at its position in the drawing, with its text broken into lines."""

    box: Box
    x: float
    y: float
    width: float
    style: str
    least: float = 0.0  # minimum height of the box

    @cached_property
    def runs(self) -> tuple[_Run, ...]:
        box, room = self.box, self.width - 2 * PADDING
        runs = _counted(box.title, box.n if box.counted else None, TITLE_SIZE * BOLD, room, "flow-title", 0)
        for line in box.lines:
            indent = INDENT * line.depth
            style = "flow-text flow-part" if line.depth else "flow-text"
            runs += _counted(line.text, line.n, TEXT_SIZE, room - indent, style, indent)
        return tuple(runs)

    @property
    def height(self) -> float:
        return max(self.least, 2 * PADDING + LEADING * len(self.runs) - (LEADING - TEXT_SIZE))

    @property
    def bottom(self) -> float:
        return self.y + self.height

    @property
    def middle(self) -> float:
        return self.y + self.height / 2

    @property
    def centre(self) -> float:
        return self.x + self.width / 2


def box_svg(placed: Placed) -> str:
    """Return the SVG elements of a box, with its lines vertically centred."""
    drawn = [
        f'<rect class="{placed.style}" x="{placed.x:g}" y="{placed.y:g}" width="{placed.width:g}" '
        f'height="{placed.height:g}" rx="3"/>'
    ]
    top = (placed.height - LEADING * len(placed.runs) + LEADING - TEXT_SIZE) / 2
    for number, run in enumerate(placed.runs):
        x, y = placed.x + PADDING + run.indent, placed.y + top + TEXT_SIZE * 0.85 + LEADING * number
        whole = f"<title>{xml_text(run.whole)}</title>" if run.whole else ""
        drawn.append(f'<text class="{run.style}" x="{x:g}" y="{y:g}">{whole}{xml_text(run.text)}</text>')
    return "\n".join(drawn)


def band_svg(phase: str, top: float, bottom: float) -> str:
    """Return the SVG elements of the band at the left that names a phase. `top`, `bottom`: its y coordinates."""
    at = f'transform="translate({BAND / 2 + 5:g} {(top + bottom) / 2:g}) rotate(-90)"'
    return _label(phase, (1, top, BAND, bottom - top), at)


def _label(text: str, room: tuple[float, float, float, float], at: str) -> str:
    x, y, wide, high = room
    return (
        f'<rect class="flow-band" x="{x:g}" y="{y:g}" width="{wide:g}" height="{high:g}" rx="3"/>\n'
        f'<text class="flow-phase" text-anchor="middle" {at}>{xml_text(text)}</text>'
    )


def arrow_svg(x: float, y: float, to_x: float, to_y: float) -> str:
    """Return an arrow from (x, y) to (to_x, to_y), as SVG elements.

    The arrow goes straight down. If its end is to the side, the arrow goes down first, then across.
    """
    if x == to_x:
        head = f"{to_x:g},{to_y:g} {to_x - 4:g},{to_y - 8:g} {to_x + 4:g},{to_y - 8:g}"
        line = f"M{x:g} {y:g}V{to_y - 7:g}"
    else:
        back = -8 if to_x > x else 8
        head = f"{to_x:g},{to_y:g} {to_x + back:g},{to_y - 4:g} {to_x + back:g},{to_y + 4:g}"
        down = f"V{to_y:g}" if y != to_y else ""
        line = f"M{x:g} {y:g}{down}H{to_x + back + (1 if to_x > x else -1):g}"
    return f'<path class="flow-arrow" d="{line}"/><polygon class="flow-head" points="{head}"/>'


def xml_text(text: str) -> str:
    """Return the text escaped for XML, without the characters that XML forbids."""
    return escape(_NO_XML.sub("", text))


def _counted(text: str, n: int | None, size: float, room: float, style: str, indent: float) -> list[_Run]:
    """Return the lines of a text, with a number such as `(n = 12)` at the end. Only the text is cut, never the number.

    `size`: the font size. `room`: the width available. `n`: None for a text without a number.
    """
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
    return [_Run(line, style, indent + (hanging if number else 0), cut) for number, line in enumerate(lines)]


MAIN_X, MAIN_WIDTH = 46.0, 360.0
SIDE_X, SIDE_WIDTH = 462.0, 420.0
NARROW_MAIN, NARROW_SIDE, NARROW_GAP = 232.0, 262.0, 36.0  # for several columns
GAP = 30.0  # between two steps, for an arrow
SIDE_GAP = 14.0
TALL = 1.2  # height relative to the width, from which a drawing has a printed page of its own
MOST = 12  # parts of a box in the drawing; the table beside it has all

# A standalone drawing is light, on white. In a page, the page sets its colours.
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
class _Column:
    """The horizontal position of a column: main boxes at the left, side boxes at the right."""

    x: float = MAIN_X
    main_width: float = MAIN_WIDTH
    side_x: float = SIDE_X
    side_width: float = SIDE_WIDTH

    @property
    def right(self) -> float:
        return self.side_x + self.side_width


def draw(flow: Flow, *, title: str = "PRISMA 2020 flow diagram", standalone: bool = True) -> str:
    """Return the flow as an SVG document.

    If `standalone` is False, return an `<svg>` element for a page. The page's style sheet must define its classes.
    """
    template = flow_template(flow, MOST)
    columns = _columns(len(template.columns))
    parts: list[str] = []
    bands: list[tuple[str, float, float]] = []
    y = 1.0
    if any(template.headings):
        for heading, column in zip(template.headings, columns, strict=True):
            at = f'x="{(column.x + column.right) / 2:g}" y="{y + 18:g}"'
            parts.append(_label(heading, (column.x, y, column.right - column.x, HEADING_HEIGHT), at))
        y += HEADING_HEIGHT + GAP / 2
    above: list[Placed] = []
    for row in (*zip(*template.columns, strict=True), *((step,) for step in template.joint)):
        phase = row[0].phase
        room = width(phase, 12) * BOLD + 12  # height of the phase's name
        # The names of several phases in one step need room, too.
        bottom = y + room * (phase == IDENTIFICATION)
        mains: list[Placed] = []
        for step, column in zip(row, columns, strict=False):
            least = room * (phase == INCLUDED)
            main = Placed(step.box, column.x, y, column.main_width, "flow-box flow-main", least)
            sides = list(_side_boxes(step, column, y))
            parts += [_branch(main, side) for side in sides]
            parts += [box_svg(placed) for placed in (main, *sides)]
            bottom = max(bottom, *(placed.bottom for placed in (main, *sides)))
            mains.append(main)
        parts += _down(above, mains)
        if bands and bands[-1][0] == phase:
            bands[-1] = (phase, bands[-1][1], bottom)
        else:
            bands.append((phase, y, bottom))
        above, y = mains, bottom + GAP
    size = (max(column.right for column in columns) + 2, y - GAP + 1)
    drawn = "\n".join([*(band_svg(*band) for band in bands), *parts])
    kind = "flow" + " flow-wide" * (len(columns) > 1) + " flow-tall" * (size[1] > TALL * size[0])
    heard = " ".join([in_words(template), *[BY_HUMAN] * any(stage.decides for stage in flow.stages)])
    return _document(drawn, size, kind, (title, heard), standalone)


def in_words(template: FlowTemplate) -> str:
    """Return the flow as sentences, for screen readers."""
    sentences = []
    heard = ""
    for step in template.steps:
        if step.column and step.column != heard:
            sentences.append(f"Identification of studies {step.column}.")
        heard = step.column
        for box in step.boxes:
            parts = "; ".join(line.text if line.n is None else f"{line.text}: {line.n:,}" for line in box.lines)
            sentences.append(f"{box.title.removesuffix(':')}: {box.n:,}" + (f" ({parts})." if parts else "."))
    return " ".join(sentences)


def _columns(n: int) -> tuple[_Column, ...]:
    """Return the horizontal positions of `n` columns. A single column is wide, several columns are narrow."""
    if n == 1:
        return (_Column(),)
    starts = [MAIN_X + (NARROW_MAIN + NARROW_GAP + NARROW_SIDE + NARROW_GAP) * number for number in range(n)]
    return tuple(_Column(x, NARROW_MAIN, x + NARROW_MAIN + NARROW_GAP, NARROW_SIDE) for x in starts)


def _side_boxes(step: Step, column: _Column, y: float) -> Iterator[Placed]:
    for box in step.sides:
        placed = Placed(box, column.side_x, y, column.side_width, "flow-box")
        yield placed
        y = placed.bottom + SIDE_GAP


def _branch(main: Placed, side: Placed) -> str:
    """Return the arrow to a side box, from the main box or from the line below the main box."""
    at = min(main.middle, side.middle) if side.y < main.middle else side.middle
    return arrow_svg(main.x + main.width if at < main.bottom else main.centre, at, side.x, at)


def _down(above: list[Placed], mains: list[Placed]) -> list[str]:
    """Return the arrows from each main box in `above` to the main box below it, in `mains`.

    If several columns end in one box, the first column's arrow enters it from above, the other arrows from the side.
    """
    arrows = [arrow_svg(box.centre, box.bottom, box.centre, main.y) for box, main in zip(above, mains, strict=False)]
    end = mains[-1]
    return arrows + [arrow_svg(box.centre, box.bottom, end.x + end.width, end.middle) for box in above[len(mains) :]]


def _document(drawn: str, size: tuple[float, float], kind: str, texts: tuple[str, str], standalone: bool) -> str:
    (width, height), (title, words) = size, texts
    measures = f'viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}"'
    head = '<?xml version="1.0" encoding="UTF-8"?>\n' if standalone else ""
    space = ' xmlns="http://www.w3.org/2000/svg"' if standalone else ""
    style = f"<style>{STYLE}</style>\n" if standalone else ""
    paper = '<rect class="flow-paper" width="100%" height="100%"/>\n' if standalone else ""
    return (
        f'{head}<svg{space} class="{kind}" {measures} role="img" aria-labelledby="flow-title flow-words">\n'
        f'<title id="flow-title">{xml_text(title)}</title>\n<desc id="flow-words">{xml_text(words)}</desc>\n'
        f"{style}{paper}{drawn}\n</svg>\n"
    )


def width(text: str, size: float) -> float:
    """Return an upper bound for the width of a line of text. The font size and the width have the same unit."""
    return sum(_thousandths(character) for character in text) * size / 1000 * SLACK


def wrapped(text: str, size: float, room: float, lines: int = 3) -> list[str]:
    """Return the text in at most `lines` lines, each at most `room` wide. A text that is cut ends with an ellipsis.

    `size`: the font size.
    """
    words = _broken(" ".join(text.split()), size, room)
    wrapped_lines: list[str] = []
    line = ""
    for n, word in enumerate(words):
        longer = f"{line} {word}" if line else word
        if not line or width(longer, size) <= room:
            line = longer
            continue
        if len(wrapped_lines) == lines - 1:
            return [*wrapped_lines, _cut(" ".join([line, *words[n:]]), size, room)]
        wrapped_lines.append(line)
        line = word
    return [*wrapped_lines, line]


def _broken(text: str, size: float, room: float) -> list[str]:
    """Return the words of a text. A word wider than `room`, such as an address, is split.

    `size`: the font size.
    """
    pieces: list[str] = []
    for word in text[:2000].split(" "):
        piece = ""
        for character in word:
            if piece and width(piece + character, size) > room:
                pieces.append(piece)
                piece = ""
            piece += character
        pieces.append(piece)
    return pieces


def _cut(text: str, size: float, room: float) -> str:
    kept = ""
    for character in text:
        if width(kept + character + ELLIPSIS, size) > room:
            break
        kept += character
    return kept.rstrip() + ELLIPSIS


def _thousandths(character: str) -> int:
    if character in _KNOWN:
        return _KNOWN[character]
    if unicodedata.combining(character):
        return 0
    if unicodedata.east_asian_width(character) in "WF":
        return 1000
    return 722 if character.isupper() or character == "w" else 556
