"""How an endpoint wants a model to be asked: found out from its refusals, which cost nothing.

A request starts with everything: a strict schema with all bounds, `max_tokens`, the temperature, the options. A
refusal of one of these takes it away. A dialect only ever loses, so asking again ends: after three rungs, the budget's
name, the temperature and the options.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from .chat import ChatRequest
from .schema_dialect import bounded, instruction, portable


class Rung(StrEnum):
    """How the shape of the answer is told, from the most binding to the least."""

    BOUNDED = "bounded"
    STRICT = "strict"
    JSON_OBJECT = "json_object"
    TEXT = "text"


BELOW = {Rung.BOUNDED: Rung.STRICT, Rung.STRICT: Rung.JSON_OBJECT, Rung.JSON_OBJECT: Rung.TEXT}

# The older name comes first: every server knows it except newer OpenAI models, which refuse it at once. The newer name
# would be ignored without a word by older servers, and the answer would have no budget.
OLDER_BUDGET = "max_tokens"
NEWER_BUDGET = "max_completion_tokens"

REFUSING = frozenset({400, 422, 501})  # the statuses with which servers refuse a parameter
_FORMAT = re.compile(r"response_?format|schema|structured.?output|grammar|guided", re.IGNORECASE)
_UNSUPPORTED = re.compile(
    r"unsupported|not supported|n.t support|not support|not permitted|not allowed|unrecognized|unknown|unexpected|"
    r"extra input|deprecated|only the default|invalid service_tier",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Dialect:
    """What an endpoint is known to take for a model."""

    rung: Rung = Rung.BOUNDED
    budget: str = OLDER_BUDGET
    left_out: frozenset[str] = frozenset()  # parameters that the endpoint refuses


@dataclass(frozen=True, slots=True)
class Refusal:
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
    if dialect.rung in (Rung.BOUNDED, Rung.STRICT):
        schema = bounded(request.schema) if dialect.rung is Rung.BOUNDED else portable(request.schema)
        named = {"name": request.schema_name, "strict": True, "schema": schema}
        written["response_format"] = {"type": "json_schema", "json_schema": named}
        return written
    if messages and messages[0]["role"] == "system":
        messages[0]["content"] += f"\n\n{instruction(request.schema)}"
    else:
        messages.insert(0, {"role": "system", "content": instruction(request.schema)})
    if dialect.rung is Rung.JSON_OBJECT:
        written["response_format"] = {"type": "json_object"}
    return written


def after_refusal(dialect: Dialect, refusal: Refusal, optional: Iterable[str] = ("temperature",)) -> Dialect | None:
    """The dialect without what was refused; None where the refusal is about something else.

    `optional` are the names of the parameters that the request can do without.
    """
    if refusal.status not in REFUSING:
        return None
    about = f"{refusal.param or ''} {refusal.message}"
    unsupported = refusal.code in ("unsupported_parameter", "unsupported_value") or _UNSUPPORTED.search(about)
    if unsupported and dialect.budget == OLDER_BUDGET and OLDER_BUDGET in about:
        return replace(dialect, budget=NEWER_BUDGET)
    for name in optional:
        if unsupported and name not in dialect.left_out and re.search(rf"(?<!\w){re.escape(name)}(?!\w)", about):
            return replace(dialect, left_out=dialect.left_out | {name})
    if dialect.rung in BELOW and _FORMAT.search(about):
        return replace(dialect, rung=BELOW[dialect.rung])
    return None
