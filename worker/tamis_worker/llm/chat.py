"""A question to a model, and the reply: an answer or an error. The error is a value, not an exception.

A request format (`Rung`) is a way to give an endpoint the answer's shape. The formats are ordered from the most binding
to the least binding.
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
    """A request format: a way to give an endpoint the shape that the answer must have."""

    BOUNDED = "bounded"  # a strict schema with every limit, long: a number from 0 to 1 is an enum of hundredths
    STRICT = "strict"  # a strict schema in the short form that all strict modes take
    JSON_OBJECT = "json_object"  # JSON mode; the schema is in the messages
    TEXT = "text"  # no format parameter; the schema is in the messages
    REMINDED = "reminded"  # like TEXT, but the prompt ends with a reminder to answer with one JSON object


START = Rung.STRICT  # the short form: only servers that compile grammars need the long one
LOWEST = Rung.REMINDED
WITH_SCHEMA = frozenset({Rung.BOUNDED, Rung.STRICT})  # the endpoint gets the schema as a parameter

_ORDER = {rung: place for place, rung in enumerate(Rung)}


def is_below(rung: Rung, other: Rung) -> bool:
    """Return True if the request format `rung` is less binding than `other`."""
    return _ORDER[rung] > _ORDER[other]


def lower(one: Rung, other: Rung) -> Rung:
    """Return the less binding of two request formats."""
    return other if is_below(other, one) else one


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """A question to a model, and the shape that the answer must have."""

    model: str
    messages: tuple[Message, ...]
    schema_name: str  # letters, digits, `_`, `-` only, at most 64: endpoints refuse other names
    schema: Schema  # of the answer, which is an object
    temperature: float | None  # None: not sent
    max_tokens: int  # of the answer
    # Further parameters of the body, which are omitted after a refusal: reasoning_effort, service_tier,
    # prompt_cache_key, a provider's own fields.
    options: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)  # HTTP headers, added to the usual headers
    timeout: float | None = None  # seconds for the whole call; None: the worker's setting
    decision: DecisionField | None = None  # the answer's field with the decision; None: there is none


@dataclass(frozen=True, slots=True)
class ChatAnswer:
    """A model's answer: its text is neither cut off nor empty, but it may not be JSON."""

    content: str
    model: str  # the endpoint's name of the model
    usage: Usage
    finish_reason: str
    latency_ms: int
    rate: RateHeaders | None = None  # the endpoint's rate limits
    tier: str | None = None  # the service tier of the bill, as the endpoint names it
    rung: Rung | None = None  # the format of the request
    thoughts: int = 0  # characters of reasoning, in addition to the answer
    id: str | None = field(default=None, compare=False)  # the endpoint's id of the completion; None: not named
    tokens: object = field(default=None, repr=False, compare=False)  # `logprobs.content`, unchanged
    body: Mapping[str, Any] | None = field(default=None, repr=False, compare=False)  # the request's body, as sent


class Obstacle(StrEnum):
    """The reason why a call did not reach the model, if known."""

    NAME = "name"  # the host is unknown
    REFUSED = "refused"  # no server listens there
    TLS = "tls"
    PAGE = "page"  # a page of HTML with status 200, for example to sign in
    CUT = "cut"  # the call was cut off here, because its item was cancelled


@dataclass(frozen=True, slots=True)
class CallError:
    """The reason why a call has no usable answer. The message never contains the API key."""

    kind: ErrorKind
    message: str
    status: int | None = None  # of HTTP; None: there was no response
    retry_after: float | None = None  # seconds, from the endpoint
    usage: Usage = field(default_factory=Usage)  # tokens that were paid nevertheless
    latency_ms: int = 0
    everyone: bool = False  # True: every call would fail so: key or model is refused, or the quota is used up
    sent: bool = True  # False: there was no connection, so nothing was paid
    rate: RateHeaders | None = None  # the endpoint's rate limits
    tier: str | None = None  # the service tier of the bill, for an unusable answer
    no_capacity: bool = False  # True: the service tier has no capacity now; nothing was paid, no limit was reached
    rung: Rung | None = None  # the format of the request
    obstacle: Obstacle | None = None
    content: str = ""  # text of an answer that was cut off
    body: Mapping[str, Any] | None = field(default=None, repr=False, compare=False)  # of the request; None: not sent


Reply: TypeAlias = ChatAnswer | CallError
