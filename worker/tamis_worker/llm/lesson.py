"""What an answer teaches of an endpoint and a model: whether the shape that they were told was followed.

| the answer | lesson | what follows |
|---|---|---|
| could be used | usable | the rung has proven itself |
| follows the schema, and the operation refuses it all the same | followed | nothing but the repair |
| has the shape, and a value out of its bounds | out of bounds | from strict to bounded |
| has another shape, or is no JSON; nothing was written at all | other shape | one rung down |

What is cut off, refused by the model or held back by a filter teaches nothing. A rung that has proven itself does not
fall for a single glitch; the long form loosens nothing, and is sent as soon as a value was out of bounds. A rung that
has not falls with its first bad answer, and the third one leads to the lowest rung, whatever the way: so three answers
at most are wasted on finding out.

Nothing at all (`empty`) counts as another shape: servers that cannot write under a schema, and JSON modes by their
vendors' own word, answer so. On a proven rung it teaches nothing.

Pure: values in, values out.
"""

from dataclasses import dataclass, field, replace
from enum import Enum, auto
from typing import Any

from jsonschema import Draft202012Validator

from tamis_schemas.operations.schema_pattern import linear

from .chat import Schema
from .json_answer import Malformed
from .rung import LOWEST, START, Rung, is_below
from .schema_dialect import portable

MAX_WASTED = 3  # answers in a row that could not be used, until the lowest rung is reached
GLITCHES = 0.05  # of the answers on a proven rung may be bad,
STRAYS = 0.01  # of them may be out of bounds that were not told
FEW = 5  # and as long as there are fewer, a handful of odd records may be all that is wrong
_Judge = linear(Draft202012Validator)  # a caller's pattern may be hostile
_BELOW = {
    Rung.BOUNDED: Rung.JSON_OBJECT,
    Rung.STRICT: Rung.JSON_OBJECT,
    Rung.JSON_OBJECT: Rung.TEXT,
    Rung.TEXT: LOWEST,
}


class Lesson(Enum):
    """What an answer was."""

    USABLE = auto()
    FOLLOWED = auto()
    OUT_OF_BOUNDS = auto()
    OTHER_SHAPE = auto()


@dataclass(frozen=True, slots=True)
class Learned:
    """What the answers of an endpoint and a model have taught all workers."""

    rung: Rung = START
    proven: bool = False  # an answer on this rung, or on one below that refusals led to, could be used
    unusable: int = 0  # answers in a row that could not be used, none on this rung before; anew on the lowest
    due: bool = field(default=False, compare=False)  # below the start for a day: it may have become better


@dataclass(slots=True)
class Tried:
    """How often a rung was answered on, in one process."""

    answers: int = 0
    bad: int = 0

    def note(self, lesson: Lesson) -> None:
        """Add one answer."""
        self.answers += 1
        self.bad += lesson in (Lesson.OUT_OF_BOUNDS, Lesson.OTHER_SHAPE)

    def wears(self, lesson: Lesson) -> bool:
        """True where there were more bad answers than a rung that works has: several, and more than 5 %.

        The long form costs some tokens and loosens nothing, so for what is out of bounds more than 1 % will do.
        """
        if lesson is Lesson.OUT_OF_BOUNDS:
            return self.bad > STRAYS * self.answers
        return self.bad >= FEW and self.bad > GLITCHES * self.answers


def lesson_of(value: Any, schema: Schema) -> Lesson:
    """What an answer was that its operation refuses: decoded, or the `Malformed` that says why it cannot be."""
    if isinstance(value, Malformed) or not _Judge(portable(schema)).is_valid(value):
        return Lesson.OTHER_SHAPE
    return Lesson.FOLLOWED if _Judge(schema).is_valid(value) else Lesson.OUT_OF_BOUNDS


def after_answer(known: Learned, asked_on: Rung, lesson: Lesson, *, worn: bool) -> Learned:
    """What is known after an answer to a call that was made on a rung.

    `worn` says that the rung, even if it has proven itself, has had too many bad answers.
    """
    if is_below(known.rung, asked_on):  # the call began before the rung fell, or tries whether it may rise again
        climbs = known.due and lesson is Lesson.USABLE
        return Learned(asked_on, proven=True) if climbs else known
    if lesson is Lesson.USABLE:
        return replace(known, proven=True, unusable=0)
    if known.proven and (not worn or is_below(asked_on, known.rung)):
        return known  # what is bad below a proven rung is the affair of the schema that was refused on it
    down = _down(known.rung, asked_on, lesson)
    if down is None:
        counts = asked_on is LOWEST and not known.proven
        return replace(known, unusable=known.unusable + 1) if counts else known
    if down is Rung.BOUNDED:
        return replace(known, rung=down, unusable=known.unusable + 1)
    if known.unusable + 1 >= MAX_WASTED:
        down = LOWEST
    return Learned(down, unusable=0 if down is LOWEST else known.unusable + 1)


def _down(known: Rung, asked_on: Rung, lesson: Lesson) -> Rung | None:
    """Where a bad answer leads; None: nowhere."""
    if lesson is Lesson.OUT_OF_BOUNDS:
        return Rung.BOUNDED if known is asked_on is Rung.STRICT else None
    return _BELOW.get(asked_on) if lesson is Lesson.OTHER_SHAPE else None


def below(rung: Rung) -> Rung | None:
    """The rung that follows upon an answer of another shape; None: there is none."""
    return _BELOW.get(rung)
