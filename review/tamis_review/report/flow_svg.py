"""The PRISMA 2020 flow as SVG text: drawn here, from the numbers alone."""

from dataclasses import dataclass

from tamis_schemas.batches.flow import Flow

from .boxes import IDENTIFICATION, INCLUDED, Step
from .prisma import columns_of, follows_template, heading, joint_steps
from .steps import screening_steps
from .svg_box import HEADING_HEIGHT, Placed, arrow_svg, band_svg, box_svg, heading_svg, phase_room, place, xml_text

MAIN_X, MAIN_WIDTH = 46.0, 360.0
SIDE_X, SIDE_WIDTH = 462.0, 420.0
NARROW_MAIN, NARROW_SIDE, NARROW_GAP = 232.0, 262.0, 36.0  # of several columns
GAP = 30.0  # between two steps: room for an arrow
SIDE_GAP = 14.0
MOST = 12  # parts of a box in the drawing; the table beside it has all

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
class _Column:
    """The boxes of a column and where they stand: main boxes at the left, what leaves them at the right."""

    steps: tuple[Step, ...]
    heading: str
    x: float = MAIN_X
    main_width: float = MAIN_WIDTH
    side_x: float = SIDE_X
    side_width: float = SIDE_WIDTH

    @property
    def right(self) -> float:
        return self.side_x + self.side_width


def draw(flow: Flow, *, title: str = "PRISMA 2020 flow diagram", standalone: bool = True) -> str:
    """An SVG document, or, not `standalone`, an `<svg>` element for a page whose style sheet knows its classes.

    The text is text: it can be selected and searched. `<desc>` says the whole flow in words.
    """
    columns, joint = _columns(flow)
    parts: list[str] = []
    bands: list[tuple[str, float, float]] = []
    y = 1.0
    if any(column.heading for column in columns):
        parts += [heading_svg(column.heading, column.x, y, column.right - column.x) for column in columns]
        y += HEADING_HEIGHT + GAP / 2
    above: list[Placed] = []
    rows = [*zip(*(column.steps for column in columns), strict=True), *((step,) for step in joint)]
    for row in rows:
        phase = row[0].phase
        room = phase_room(phase)
        # The phases of one step: their names need room, too.
        bottom = y + room * (phase == IDENTIFICATION)
        mains: list[Placed] = []
        for step, column in zip(row, columns, strict=False):
            least = room * (phase == INCLUDED)
            main = place(step.box, column.x, y, column.main_width, "flow-box flow-main", least)
            sides = _side_boxes(step, column, y)
            for side in sides:
                parts.append(_branch(main, side))
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
    shown = (*(step for column in columns for step in column.steps), *joint)
    kind = "flow flow-wide" if len(columns) > 1 else "flow"
    return _document(drawn, size, kind, (title, in_words(shown)), standalone)


def in_words(shown: tuple[Step, ...]) -> str:
    """The flow as sentences, for whoever hears it."""
    sentences = []
    heard = ""
    for step in shown:
        if step.column and step.column != heard:
            sentences.append(f"Identification of studies {step.column}.")
        heard = step.column
        for box in (step.box, *step.sides):
            parts = "; ".join(line.text if line.n is None else f"{line.text}: {line.n:,}" for line in box.lines)
            title = box.title.removesuffix(":")
            sentences.append(f"{title}: {box.n:,}" + (f" ({parts})." if parts else "."))
    return " ".join(sentences)


def _columns(flow: Flow) -> tuple[tuple[_Column, ...], tuple[Step, ...]]:
    """Return the columns, and the steps below them in which all of them end."""
    if not follows_template(flow):
        return (_Column(screening_steps(flow, MOST), ""),), ()
    joint = joint_steps(flow, MOST)
    if flow.reports is not None:  # PRISMA's figure ends with what is included
        joint = joint[: 1 if flow.previous is None else 2]
    each = columns_of(flow, MOST)
    if len(each) == 1:
        return (_Column(each[0], _headline(flow)),), joint
    columns, x = [], MAIN_X
    for steps, of in zip(each, flow.columns, strict=True):
        columns.append(_Column(steps, _headline(of), x, NARROW_MAIN, x + NARROW_MAIN + NARROW_GAP, NARROW_SIDE))
        x = columns[-1].right + NARROW_GAP
    return tuple(columns), joint


def _headline(flow: Flow) -> str:
    return f"Identification of studies {heading(flow)}" if flow.sources else ""


def _side_boxes(step: Step, column: _Column, y: float) -> list[Placed]:
    placed: list[Placed] = []
    for box in step.sides:
        placed.append(place(box, column.side_x, y, column.side_width, "flow-box"))
        y = placed[-1].bottom + SIDE_GAP
    return placed


def _branch(main: Placed, side: Placed) -> str:
    """Return the arrow to a side box: from the box, or from the line that leads on below it."""
    at = min(main.middle, side.middle) if side.y < main.middle else side.middle
    return arrow_svg(main.x + main.width if at < main.bottom else main.centre, at, side.x, at)


def _down(above: list[Placed], mains: list[Placed]) -> list[str]:
    """Return the arrows from the boxes above, each to the one below it; into the last one from the side where it ends
    several columns.
    """
    arrows = [arrow_svg(one.centre, one.bottom, one.centre, main.y) for one, main in zip(above, mains, strict=False)]
    end = mains[-1]
    arrows += [arrow_svg(one.centre, one.bottom, end.x + end.width, end.middle) for one in above[len(mains) :]]
    return arrows


def _document(drawn: str, size: tuple[float, float], kind: str, told: tuple[str, str], standalone: bool) -> str:
    (width, height), (title, words) = size, told
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
