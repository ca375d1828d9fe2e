"""The form of request that an endpoint accepts for a model, learned from the endpoint's refusals and answers.

The first request has everything: a strict schema, `max_tokens`, the temperature, the options. Each refusal removes or
replaces one part of the request. A refused part never returns, so the retries end. A refused request costs nothing.

Endpoints support different keywords of JSON Schema, so there are two forms of a schema:

| form | for | change |
|---|---|---|
| portable | all strict modes; tried first | everything outside the common subset is dropped |
| bounded | servers that compile the schema into a grammar (llama.cpp) | a number from 0 to 1 becomes an enum |

A dropped limit still applies: every answer is validated against the original schema.

An answer shows whether the model followed the requested shape. So an answer may change the model's request format
(`Rung`):

| answer | adherence | consequence |
|---|---|---|
| usable | usable | the format is proven |
| follows the schema, but the operation refuses it | followed | the format stays; the model is asked once more |
| has the shape, but a value beyond its limits | out of bounds | from strict to bounded |
| has another shape, is no JSON, or is empty | other shape | the next less binding format |

Not counted are answers that were cut off or filtered, refusals by the model, and empty answers in a proven format.
The last two rows of the table are bad answers. An unproven format is replaced at the first bad answer, and the third
bad answer leads to the least binding format. So at most three answers are wasted.

A proven format survives single bad answers. But if more than 1 % of its answers are out of bounds, `bounded` replaces
`strict`.
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

# The format after a refused format. A refusal costs nothing, so no format is skipped.
BELOW = {Rung.BOUNDED: Rung.STRICT, Rung.STRICT: Rung.JSON_OBJECT, Rung.JSON_OBJECT: Rung.TEXT}

# The older name comes first: every server knows it except newer OpenAI models, which refuse it at once. Older servers
# would silently ignore the newer name, and the answer would have no budget.
OLDER_BUDGET = "max_tokens"
NEWER_BUDGET = "max_completion_tokens"

# The last words of a prompt have the most effect on talkative models.
REMINDER = (
    "Answer now with one JSON object that follows the schema, and nothing else: no words before it, and none behind it."
)

REFUSING = frozenset({400, 422, 501})  # the statuses of a refused parameter
FORBIDDEN = 403  # OpenAI's status if a reasoning model gets no token probabilities
_FORMAT = re.compile(r"response_?format|schema|structured.?output|grammar|guided", re.IGNORECASE)
# A match decides alone: prompts and schemas have no such word, and the answer is as good without probabilities. Google
# writes the word with a capital, so case is ignored.
_OF_TOKENS = re.compile(r"log_?probs?(?![a-z])|log.?probabilit", re.IGNORECASE)
_UNSUPPORTED = re.compile(
    r"unsupported|not supported|n.t support|not support|not permitted|not allowed|unrecognized|unknown|unexpected|"
    r"extra input|deprecated|only the default|invalid service_tier",
    re.IGNORECASE,
)

# llama.cpp's grammar ignores minimum and maximum of numbers that are not integers: it allows a confidence of
# -1234567890000000.0. A model's confidence is no finer than two decimals.
UNIT_INTERVAL = [round(step / 100, 2) for step in range(101)]

PORTABLE = frozenset({"type", "properties", "required", "additionalProperties", "items", "enum", "const", "anyOf"}) | {
    "title",
    "description",
    "$ref",
    "$defs",
}

MAX_WASTED = 3  # unusable answers in a row that lead to the least binding format
GLITCHES = 0.05  # share of a proven format's answers that may be bad
STRAYS = 0.01  # share of answers that may exceed limits that the model did not see
FEW = 5  # bad answers; fewer may be odd records only
_Judge = linear(Draft202012Validator)  # a caller's pattern may be hostile
# The format after an answer of another shape.
AFTER_OTHER_SHAPE = {
    Rung.BOUNDED: Rung.JSON_OBJECT,
    Rung.STRICT: Rung.JSON_OBJECT,
    Rung.JSON_OBJECT: Rung.TEXT,
    Rung.TEXT: LOWEST,
}


@dataclass(frozen=True, slots=True)
class Dialect:
    """The form of request that an endpoint accepts for a model."""

    rung: Rung = Rung.BOUNDED  # the most binding request format that was not refused
    budget: str = OLDER_BUDGET  # name of the parameter that limits the answer's tokens
    left_out: frozenset[str] = frozenset()  # parameters that the endpoint refuses


@dataclass(frozen=True, slots=True)
class ParameterRefusal:
    """An error answer, with the name of the refused parameter if the endpoint gives that name."""

    status: int
    message: str
    param: str | None = None
    code: str | None = None


def body(request: ChatRequest, dialect: Dialect) -> dict[str, Any]:
    """Return the request's body for `/chat/completions`, in the form that `dialect` describes."""
    messages = [{"role": message.role, "content": message.content} for message in request.messages]
    written: dict[str, Any] = {"model": request.model, "messages": messages, dialect.budget: request.max_tokens}
    optional = {"temperature": request.temperature, **request.options}
    written |= {name: value for name, value in optional.items() if value is not None and name not in dialect.left_out}
    has_answered = any(message["role"] == "assistant" for message in messages)
    if dialect.rung in WITH_SCHEMA:
        schema = bounded(request.schema) if dialect.rung is Rung.BOUNDED else portable(request.schema)
        named = {"name": request.schema_name, "strict": True, "schema": schema}
        written["response_format"] = {"type": "json_schema", "json_schema": named}
        if has_answered:  # the parameter had no effect: an endpoint that ignores it has not seen the schema
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
    """Return the form of request without the refused part; None if the refusal concerns no part of it.

    `optional`: the names of the parameters that the request can omit.
    """
    about = f"{refusal.param or ''} {refusal.message}"
    requested = set(OF_TOKENS).intersection(optional) - dialect.left_out
    if requested and refusal.status in REFUSING | {FORBIDDEN} and _OF_TOKENS.search(about):
        return replace(dialect, left_out=dialect.left_out | requested)
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
    """Return the schema with every limit in a form that grammars obey: a number from 0 to 1 becomes an enum."""
    return _mapped(schema, _as_enum)


def portable(schema: Schema) -> Schema:
    """Return the schema in the form that all strict modes accept.

    The keywords that some strict modes refuse are omitted, such as limits of numbers. Objects are changed: they forbid
    further properties, and require all of their properties.
    """
    return _mapped(schema, _as_subset)


def instruction(schema: Schema) -> str:
    """Return an instruction that contains the schema, for prompts to an endpoint that accepts no schema."""
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
    """Return a copy of the schema after `change` was applied to it and to every schema inside."""
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
    """How far an answer followed the requested shape."""

    USABLE = auto()  # the operation accepted the answer
    FOLLOWED = auto()  # the answer follows the schema, but the operation refused it
    OUT_OF_BOUNDS = auto()  # the shape is right, but a value is beyond a limit of the schema
    OTHER_SHAPE = auto()  # another shape, no JSON, or an empty answer


@dataclass(frozen=True, slots=True)
class RungState:
    """The request format of a model at an endpoint, as learned from the answers to all workers."""

    rung: Rung = START
    proven: bool = False  # an answer was usable, in this format or, after a refusal, in a less binding format
    unusable: int = 0  # unusable answers in a row since the last usable answer; restarts at the least binding format
    due: bool = field(default=False, compare=False)  # less binding than the start for a day, so try the start again


@dataclass(slots=True)
class AnswerCounts:
    """Counts of the answers in one request format, in one process."""

    answers: int = 0
    bad: int = 0

    def add(self, adherence: Adherence) -> None:
        """Count one answer."""
        self.answers += 1
        self.bad += adherence in (Adherence.OUT_OF_BOUNDS, Adherence.OTHER_SHAPE)

    def beyond_tolerance(self, adherence: Adherence) -> bool:
        """Return True if so many answers were bad that the format does not work.

        `adherence`: how far the latest answer followed the requested shape. For `OUT_OF_BOUNDS` (right shape, but a
        value beyond a limit), a share of bad answers above `STRAYS` is too large. Otherwise a share above `GLITCHES` is
        too large, if there are at least `FEW` bad answers.
        """
        if adherence is Adherence.OUT_OF_BOUNDS:
            return self.bad > STRAYS * self.answers
        return self.bad >= FEW and self.bad > GLITCHES * self.answers


def adherence_of(value: Any, schema: Schema) -> Adherence:
    """Return how far an answer that the operation refused followed the schema.

    `value`: the decoded answer, or the error `Malformed` of an answer that could not be decoded.
    """
    if isinstance(value, Malformed) or not _Judge(portable(schema)).is_valid(value):
        return Adherence.OTHER_SHAPE
    return Adherence.FOLLOWED if _Judge(schema).is_valid(value) else Adherence.OUT_OF_BOUNDS


def after_answer(state: RungState, asked_on: Rung, adherence: Adherence, *, beyond_tolerance: bool) -> RungState:
    """Return the state of a model's request format after an answer to a call in the format `asked_on`.

    `beyond_tolerance`: the format has had too many bad answers, even for a proven format.
    """
    if is_below(state.rung, asked_on):  # the call began before the format changed, or tries a more binding one
        climbs = state.due and adherence is Adherence.USABLE
        return RungState(asked_on, proven=True) if climbs else state
    if adherence is Adherence.USABLE:
        return replace(state, proven=True, unusable=0)
    if state.proven and (not beyond_tolerance or is_below(asked_on, state.rung)):
        return state  # a bad answer in a format below a proven one concerns only the schema that was refused there
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
    """Return the next request format after a bad answer; None if the format stays."""
    if adherence is Adherence.OUT_OF_BOUNDS:
        return Rung.BOUNDED if rung is asked_on is Rung.STRICT else None
    return AFTER_OTHER_SHAPE.get(asked_on) if adherence is Adherence.OTHER_SHAPE else None
