"""A question to a model, and its reply: an answer or an error, both values.

How the shape of an answer is told is a ladder: its rungs go from the most binding to the least.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal, TypeAlias

from tamis_schemas import ErrorKind, Usage

from ..limiter.rate_headers import RateHeaders
from .token_probability import DecisionField

Schema: TypeAlias = dict[str, Any]  # a JSON schema: any JSON value under any keyword


class Rung(StrEnum):
    """How the shape of the answer is told."""

    BOUNDED = "bounded"  # a strict schema with every bound, long: a number from 0 to 1 is an enum of hundredths
    STRICT = "strict"  # a strict schema in the short form that all strict modes take
    JSON_OBJECT = "json_object"  # JSON mode; the schema stands in the messages
    TEXT = "text"  # nothing but the schema in the messages
    REMINDED = "reminded"  # the same, and the last words are that the answer is one JSON object


START = Rung.STRICT  # the short form: only servers that compile grammars need the long one
LOWEST = Rung.REMINDED
WITH_SCHEMA = frozenset({Rung.BOUNDED, Rung.STRICT})  # the endpoint gets the schema as a parameter

_ORDER = {rung: place for place, rung in enumerate(Rung)}


def is_below(rung: Rung, other: Rung) -> bool:
    """True where `rung` binds less than the other."""
    return _ORDER[rung] > _ORDER[other]


def lower(one: Rung, other: Rung) -> Rung:
    """The one of two rungs that binds less."""
    return other if is_below(other, one) else one


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """A question to a model, and the shape its answer must have."""

    model: str
    messages: tuple[Message, ...]
    schema_name: str  # letters, digits, `_` and `-` only, at most 64: endpoints refuse other names
    schema: Schema  # of an object
    temperature: float | None  # None: not sent
    max_tokens: int  # of the answer
    # Further parameters of the body that an endpoint may refuse, and that are then left out: reasoning_effort,
    # service_tier, prompt_cache_key, fields of a provider's own.
    options: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)  # of HTTP, beside the usual ones
    timeout: float | None = None  # seconds from first to last; None: as the worker is set
    decision: DecisionField | None = None  # of the answer; None: it includes and excludes nothing


@dataclass(frozen=True, slots=True)
class ChatAnswer:
    """The words that the model wrote: not cut off and not empty; whether they are JSON is not known yet."""

    content: str
    model: str  # as the endpoint names it
    usage: Usage
    finish_reason: str
    latency_ms: int
    rate: RateHeaders | None = None  # what the endpoint said of its limits
    tier: str | None = None  # that the answer is billed at, as the endpoint names it
    rung: Rung | None = None  # on which it was asked for
    thoughts: int = 0  # characters of reasoning that came beside it
    tokens: object = field(default=None, repr=False, compare=False)  # `logprobs.content`, as it came
    body: Mapping[str, Any] | None = field(default=None, repr=False, compare=False)  # of the request, as it was sent


class Obstacle(StrEnum):
    """Why there was no connection, where that is known."""

    NAME = "name"  # the host is not known
    REFUSED = "refused"  # nothing listens there
    TLS = "tls"


@dataclass(frozen=True, slots=True)
class CallError:
    """Why a call has no usable answer. The message never holds the API key."""

    kind: ErrorKind
    message: str
    status: int | None = None  # of HTTP; None where no response came
    retry_after: float | None = None  # seconds, as the endpoint asks
    usage: Usage = field(default_factory=Usage)  # what was paid for all the same
    latency_ms: int = 0
    everyone: bool = False  # every call would meet it: the key, its quota or the model is refused
    sent: bool = True  # False: there was not even a connection, so nothing was paid
    rate: RateHeaders | None = None  # what the endpoint said of its limits
    tier: str | None = None  # that an answer which cannot be used is billed at
    no_capacity: bool = False  # the tier has no room now: nothing was paid, and no limit was met
    rung: Rung | None = None  # on which it was asked
    obstacle: Obstacle | None = None
    content: str = ""  # what had come of an answer that was cut off
    body: Mapping[str, Any] | None = field(default=None, repr=False, compare=False)  # of the request; None: none was


Reply: TypeAlias = ChatAnswer | CallError
