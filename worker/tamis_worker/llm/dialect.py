"""How an endpoint wants a model to be asked: found out from its refusals, which cost nothing, and from its answers.

A request starts with everything: a strict schema, `max_tokens`, the temperature, the options. A refusal of one of these
takes it away. A dialect only ever loses by refusals, so asking again ends: after three rungs, the budget's name, the
temperature and the options.

The schema, too, is written in the words that an endpoint takes. Our schemas say type, object, properties, required,
additionalProperties, enum, maxLength, minimum, maximum, array. What an endpoint does with them differs:

| dialect | for | what is changed |
|---|---|---|
| portable | all strict modes, and first of all | everything outside the common subset is dropped |
| bounded | servers that compile the schema into a grammar (llama.cpp) | a number from 0 to 1 becomes an enum |

The bounds that are dropped still hold: an answer is always validated against the schema itself.

An answer tells whether the shape that it was told was followed, and that moves the rung on which the model is asked:

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
"""

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from typing import Any

from jsonschema import Draft202012Validator

from tamis_schemas.operations.schema_pattern import linear

from .chat import LOWEST, START, WITH_SCHEMA, ChatRequest, Rung, Schema, is_below
from .json_answer import Malformed
from .prompt_cache import marked
from .token_probability import PARAMETERS as OF_TOKENS

# Where a refused format leads. A refusal costs nothing, so no rung is left out.
BELOW = {Rung.BOUNDED: Rung.STRICT, Rung.STRICT: Rung.JSON_OBJECT, Rung.JSON_OBJECT: Rung.TEXT}

# The older name comes first: every server knows it except newer OpenAI models, which refuse it at once. The newer name
# would be ignored without a word by older servers, and the answer would have no budget.
OLDER_BUDGET = "max_tokens"
NEWER_BUDGET = "max_completion_tokens"

# The last words of a prompt weigh most with models that talk.
REMINDER = (
    "Answer now with one JSON object that follows the schema, and nothing else: no words before it, and none behind it."
)

REFUSING = frozenset({400, 422, 501})  # the statuses with which servers refuse a parameter
FORBIDDEN = 403  # with which OpenAI refuses the tokens' probabilities of models that think
_FORMAT = re.compile(r"response_?format|schema|structured.?output|grammar|guided", re.IGNORECASE)
# Whatever else it says: prompts and schemas have no such word, and an answer is as good without them. In any case,
# because Google writes it with a capital.
_OF_TOKENS = re.compile(r"log_?probs?(?![a-z])|log.?probabilit", re.IGNORECASE)
_UNSUPPORTED = re.compile(
    r"unsupported|not supported|n.t support|not support|not permitted|not allowed|unrecognized|unknown|unexpected|"
    r"extra input|deprecated|only the default|invalid service_tier",
    re.IGNORECASE,
)

# llama.cpp's grammar ignores minimum and maximum of numbers that are not integers: asked for a confidence, it lets
# 0.95 through, and -1234567890000000.0 too. Two decimals are more than a model's confidence means.
UNIT_INTERVAL = [round(step / 100, 2) for step in range(101)]

PORTABLE = frozenset({"type", "properties", "required", "additionalProperties", "items", "enum", "const", "anyOf"}) | {
    "title",
    "description",
    "$ref",
    "$defs",
}

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


@dataclass(frozen=True, slots=True)
class Dialect:
    """The form of request that an endpoint is known to take for a model."""

    rung: Rung = Rung.BOUNDED  # the highest that was not refused
    budget: str = OLDER_BUDGET
    left_out: frozenset[str] = frozenset()  # parameters that the endpoint refuses


@dataclass(frozen=True, slots=True)
class ParameterRefusal:
    """An error answer, as far as it says which parameter is refused."""

    status: int
    message: str
    param: str | None = None
    code: str | None = None


def body(request: ChatRequest, dialect: Dialect) -> dict[str, Any]:
    """The request's body for `/chat/completions`, in a dialect."""
    messages = [{"role": message.role, "content": message.content} for message in request.messages]
    written: dict[str, Any] = {"model": request.model, "messages": messages, dialect.budget: request.max_tokens}
    optional = {"temperature": request.temperature, **request.options}
    written |= {name: value for name, value in optional.items() if value is not None and name not in dialect.left_out}
    has_answered = any(message["role"] == "assistant" for message in messages)
    if dialect.rung in WITH_SCHEMA:
        schema = bounded(request.schema) if dialect.rung is Rung.BOUNDED else portable(request.schema)
        named = {"name": request.schema_name, "strict": True, "schema": schema}
        written["response_format"] = {"type": "json_schema", "json_schema": named}
        if has_answered:  # in vain: who ignores the parameter has not seen the schema yet
            messages[-1]["content"] += f"\n\n{instruction(request.schema)}"
        return marked(written)
    if messages and messages[0]["role"] == "system":
        messages[0]["content"] += f"\n\n{instruction(request.schema)}"
    else:
        messages.insert(0, {"role": "system", "content": instruction(request.schema)})
    if dialect.rung is Rung.JSON_OBJECT:
        written["response_format"] = {"type": "json_object"}
    if dialect.rung is Rung.REMINDED:
        messages[-1]["content"] += f"\n\n{REMINDER}"
    return marked(written)


def after_refusal(
    dialect: Dialect, refusal: ParameterRefusal, optional: Iterable[str] = ("temperature",)
) -> Dialect | None:
    """The dialect without what was refused; None where the refusal is about something else.

    `optional` are the names of the parameters that the request can do without.
    """
    about = f"{refusal.param or ''} {refusal.message}"
    asked = set(OF_TOKENS).intersection(optional) - dialect.left_out
    if asked and refusal.status in REFUSING | {FORBIDDEN} and _OF_TOKENS.search(about):
        return replace(dialect, left_out=dialect.left_out | asked)
    if refusal.status not in REFUSING:
        return None
    unsupported = refusal.code in ("unsupported_parameter", "unsupported_value") or _UNSUPPORTED.search(about)
    if unsupported and dialect.budget == OLDER_BUDGET and OLDER_BUDGET in about:
        return replace(dialect, budget=NEWER_BUDGET)
    for name in optional:
        if unsupported and name not in dialect.left_out and re.search(rf"(?<!\w){re.escape(name)}(?!\w)", about):
            return replace(dialect, left_out=dialect.left_out | {name})
    if dialect.rung in BELOW and _FORMAT.search(about):
        return replace(dialect, rung=BELOW[dialect.rung])
    return None


def bounded(schema: Schema) -> Schema:
    """The schema with every bound, written so that grammars obey: a number from 0 to 1 is an enum of hundredths."""
    return _mapped(schema, _as_enum)


def portable(schema: Schema) -> Schema:
    """The schema in the subset that strict modes have in common; it allows all that the schema allows, and more.

    Every object is closed and requires all of its properties: strict modes refuse anything else.
    """
    return _mapped(schema, _as_subset)


def instruction(schema: Schema) -> str:
    """The schema as a sentence, for models whose endpoint takes no schema."""
    return (
        "Answer with one JSON object and nothing else: no code fence, no text before or after it. "
        f"The object must match this JSON schema:\n{json.dumps(schema, ensure_ascii=False, separators=(',', ':'))}"
    )


def _as_enum(schema: Schema) -> Schema:
    unit = schema.get("type") == "number" and schema.get("minimum") == 0 and schema.get("maximum") == 1
    if not unit or "enum" in schema:
        return schema
    kept = {name: value for name, value in schema.items() if name not in ("minimum", "maximum")}
    return {**kept, "enum": list(UNIT_INTERVAL)}


def _as_subset(schema: Schema) -> Schema:
    kept = {name: value for name, value in schema.items() if name in PORTABLE}
    if "properties" in kept or kept.get("type") == "object":
        kept["additionalProperties"] = False
        kept["required"] = list(kept.get("properties", ()))
    return kept


def _mapped(schema: Schema, change: Callable[[Schema], Schema]) -> Schema:
    """The schema changed, and every schema inside it; the schema passed in is not altered."""
    changed = dict(change(schema))
    for keyword in ("properties", "$defs"):
        if keyword in changed:
            changed[keyword] = {name: _part(part, change) for name, part in changed[keyword].items()}
    for keyword in ("anyOf", "oneOf", "allOf", "prefixItems"):
        if keyword in changed:
            changed[keyword] = [_part(part, change) for part in changed[keyword]]
    if "items" in changed:
        changed["items"] = _part(changed["items"], change)
    return changed


def _part(part: Any, change: Callable[[Schema], Schema]) -> Any:
    return _mapped(part, change) if isinstance(part, dict) else part  # True and False are schemas too


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
