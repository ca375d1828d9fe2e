"""The parts of a flow's drawing: boxes with their text, arrows, phases and headings, as SVG."""

import re
from dataclasses import dataclass
from html import escape

from .boxes import Box
from .text_width import ELLIPSIS, width, wrapped

# All lengths are in the drawing's own units, which are CSS pixels at its natural size.
BAND = 26.0  # the phase at the left
PADDING = 13.0
INDENT = 14.0
HANGING = 10.0  # of a text's second line and those after it
TITLE_SIZE, TEXT_SIZE, LEADING = 13.5, 12.5, 17.5
BOLD = 1.06  # how much wider bold text is
MOST_LINES = 3  # of one text; what does not fit is in its `<title>`, and in the table
HEADING_HEIGHT = 28.0

_NO_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


@dataclass(frozen=True)
class _Run:
    """One line of text in a box, at `indent` from its padding."""

    text: str
    style: str
    indent: float
    whole: str | None = None  # what it was before it was cut


@dataclass(frozen=True)
class Placed:
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

    @property
    def centre(self) -> float:
        return self.x + self.width / 2


def place(box: Box, x: float, y: float, box_width: float, style: str, least: float = 0.0) -> Placed:
    """The box with its text in lines, at least so high."""
    return Placed(x, y, box_width, _runs(box, box_width), style, least)


def box_svg(placed: Placed) -> str:
    """The box, its lines in its middle."""
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
    """The name of a phase along the boxes that belong to it."""
    middle = (top + bottom) / 2
    return (
        f'<rect class="flow-band" x="1" y="{top:g}" width="{BAND:g}" height="{bottom - top:g}" rx="3"/>\n'
        f'<text class="flow-phase" text-anchor="middle" transform="translate({BAND / 2 + 5:g} {middle:g}) rotate(-90)">'
        f"{xml_text(phase)}</text>"
    )


def heading_svg(text: str, x: float, y: float, heading_width: float) -> str:
    """The heading above a column."""
    return (
        f'<rect class="flow-band" x="{x:g}" y="{y:g}" width="{heading_width:g}" height="{HEADING_HEIGHT:g}" rx="3"/>\n'
        f'<text class="flow-phase" text-anchor="middle" x="{x + heading_width / 2:g}" y="{y + 18:g}">'
        f"{xml_text(text)}</text>"
    )


def arrow_svg(x: float, y: float, to_x: float, to_y: float) -> str:
    """An arrow straight down, or down as far as needed and then to the side, where it ends."""
    if x == to_x:
        head = f"{to_x:g},{to_y:g} {to_x - 4:g},{to_y - 8:g} {to_x + 4:g},{to_y - 8:g}"
        line = f"M{x:g} {y:g}V{to_y - 7:g}"
    else:
        back = -8 if to_x > x else 8
        head = f"{to_x:g},{to_y:g} {to_x + back:g},{to_y - 4:g} {to_x + back:g},{to_y + 4:g}"
        down = f"V{to_y:g}" if y != to_y else ""
        line = f"M{x:g} {y:g}{down}H{to_x + back + (1 if to_x > x else -1):g}"
    return f'<path class="flow-arrow" d="{line}"/><polygon class="flow-head" points="{head}"/>'


def phase_room(phase: str) -> float:
    """The height that the name of a phase needs."""
    return width(phase, 12) * BOLD + 12


def xml_text(text: str) -> str:
    """The text for XML, without the characters that XML cannot hold at all."""
    return escape(_NO_XML.sub("", text))


def _runs(box: Box, box_width: float) -> tuple[_Run, ...]:
    room = box_width - 2 * PADDING
    runs = _counted(box.title, box.n if box.counted else None, TITLE_SIZE * BOLD, room, "flow-title", 0)
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
    return [_Run(line, style, indent + (hanging if number else 0), cut) for number, line in enumerate(lines)]
