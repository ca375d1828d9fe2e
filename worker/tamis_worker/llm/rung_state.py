"""The rung on which a model is asked, and how answers move it: whether the shape that they were told was followed.

| the answer | adherence | what follows |
|---|---|---|
| could be used | usable | the rung has proven itself |
| follows the schema, and the operation refuses it all the same | followed | nothing but the repair |
| has the shape, and a value out of its bounds | out of bounds | from strict to bounded |
| has another shape, or is no JSON; nothing was written at all | other shape | one rung down |

What is cut off, refused by the model or held back by a filter says nothing of the rung. A rung that has proven itself
does not fall for a single glitch; the long form loosens nothing, and is sent as soon as a value was out of bounds. A
rung that has not falls with its first bad answer, and the third one leads to the lowest rung, whatever the way: so
three answers at most are wasted on finding out.

Nothing at all (`empty`) counts as another shape: servers that cannot write under a schema, and JSON modes by their
vendors' own word, answer so. On a proven rung it says nothing.

Pure: values in, values out.
"""

from dataclasses import dataclass, field, replace
from enum import Enum, auto
from typing import Any

from jsonschema import Draft202012Validator

from tamis_schemas.operations.schema_pattern import linear

from .chat import LOWEST, START, Rung, Schema, is_below
from .dialect import portable
from .json_answer import Malformed

MAX_WASTED = 3  # answers in a row that could not be used, until the lowest rung is reached
GLITCHES = 0.05  # of the answers on a proven rung may be bad,
STRAYS = 0.01  # of them may be out of bounds that were not told
FEW = 5  # and as long as there are fewer, a handful of odd records may be all that is wrong
_Judge = linear(Draft202012Validator)  # a caller's pattern may be hostile
# The rung that follows upon an answer of another shape.
AFTER_OTHER_SHAPE = {
    Rung.BOUNDED: Rung.JSON_OBJECT,
    Rung.STRICT: Rung.JSON_OBJECT,
    Rung.JSON_OBJECT: Rung.TEXT,
    Rung.TEXT: LOWEST,
}


class Adherence(Enum):
    """How far an answer kept to what it was told."""

    USABLE = auto()
    FOLLOWED = auto()
    OUT_OF_BOUNDS = auto()
    OTHER_SHAPE = auto()


@dataclass(frozen=True, slots=True)
class RungState:
    """The rung of an endpoint and a model, as the answers to all workers have left it."""

    rung: Rung = START
    proven: bool = False  # an answer on this rung, or on one below that refusals led to, could be used
    unusable: int = 0  # answers in a row that could not be used, none on this rung before; anew on the lowest
    due: bool = field(default=False, compare=False)  # below the start for a day: it may have become better


@dataclass(slots=True)
class AnswerCounts:
    """How often a rung was answered on, in one process."""

    answers: int = 0
    bad: int = 0

    def add(self, adherence: Adherence) -> None:
        """Count one answer."""
        self.answers += 1
        self.bad += adherence in (Adherence.OUT_OF_BOUNDS, Adherence.OTHER_SHAPE)

    def beyond_tolerance(self, adherence: Adherence) -> bool:
        """True where there were more bad answers than a rung that works has: several, and more than 5 %.

        The long form costs some tokens and loosens nothing, so for what is out of bounds more than 1 % will do.
        """
        if adherence is Adherence.OUT_OF_BOUNDS:
            return self.bad > STRAYS * self.answers
        return self.bad >= FEW and self.bad > GLITCHES * self.answers


def adherence_of(value: Any, schema: Schema) -> Adherence:
    """The adherence of an answer that its operation refuses: decoded, or the `Malformed` that says why it cannot be."""
    if isinstance(value, Malformed) or not _Judge(portable(schema)).is_valid(value):
        return Adherence.OTHER_SHAPE
    return Adherence.FOLLOWED if _Judge(schema).is_valid(value) else Adherence.OUT_OF_BOUNDS


def after_answer(state: RungState, asked_on: Rung, adherence: Adherence, *, beyond_tolerance: bool) -> RungState:
    """The state after an answer to a call that was made on a rung.

    `beyond_tolerance` says that the rung, even if it has proven itself, has had too many bad answers.
    """
    if is_below(state.rung, asked_on):  # the call began before the rung fell, or tries whether it may rise again
        climbs = state.due and adherence is Adherence.USABLE
        return RungState(asked_on, proven=True) if climbs else state
    if adherence is Adherence.USABLE:
        return replace(state, proven=True, unusable=0)
    if state.proven and (not beyond_tolerance or is_below(asked_on, state.rung)):
        return state  # what is bad below a proven rung is the affair of the schema that was refused on it
    down = _down(state.rung, asked_on, adherence)
    if down is None:
        counts = asked_on is LOWEST and not state.proven
        return replace(state, unusable=state.unusable + 1) if counts else state
    if down is Rung.BOUNDED:
        return replace(state, rung=down, unusable=state.unusable + 1)
    if state.unusable + 1 >= MAX_WASTED:
        down = LOWEST
    return RungState(down, unusable=0 if down is LOWEST else state.unusable + 1)


def _down(rung: Rung, asked_on: Rung, adherence: Adherence) -> Rung | None:
    """The rung to which a bad answer leads; None: it leads nowhere."""
    if adherence is Adherence.OUT_OF_BOUNDS:
        return Rung.BOUNDED if rung is asked_on is Rung.STRICT else None
    return AFTER_OTHER_SHAPE.get(asked_on) if adherence is Adherence.OTHER_SHAPE else None
