"""Steering: further options of a model's requests, and the tier.

A worker's settings define its steering. A batch may have its own steering, which overrides the worker's.
"""

import json
import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, WithJsonSchema

from ..values.frozen import Frozen
from ..values.unstorable import UNSTORABLE

TIER_PATIENCE = 600.0  # seconds: ten minutes, the default in OpenAI's clients
MOST_BODY = 16_000  # characters of JSON; it is sent with every call
DEEPEST_BODY = 8  # levels of values
MOST_HEADERS = 20
LONGEST_HEADER = 4_000  # characters of a value: a token has two thousand

# Fields that Tamis writes itself -> the setting to use instead.
OWN_FIELDS = {
    "model": "set the batch's model",
    "messages": "the operation sets it",
    "response_format": "the operation sets it",
    "stream": "answers are read whole",
    "stream_options": "answers are read whole",
    "n": "one answer is read",
    "max_tokens": "set TAMIS_MAX_OUTPUT_TOKENS",
    "max_completion_tokens": "set TAMIS_MAX_OUTPUT_TOKENS",
    "temperature": "set TAMIS_TEMPERATURE",
    "reasoning_effort": "use its own option",
    "service_tier": "set a tier",
    "tools": "Tamis calls no tools",
    "tool_choice": "Tamis calls no tools",
    "parallel_tool_calls": "Tamis calls no tools",
    "functions": "Tamis calls no tools",
    "function_call": "Tamis calls no tools",
}
# Provider-specific fields that change neither the model nor its price nor the server. A key with limits may set only
# these fields of a body, and no headers.
HARMLESS_FIELDS = frozenset(
    {
        "chat_template_kwargs", "enable_thinking", "frequency_penalty", "logit_bias", "logprobs", "metadata", "min_p",
        "presence_penalty", "prompt_cache_key", "reasoning", "repetition_penalty", "safety_identifier", "seed", "stop",
        "thinking", "top_k", "top_logprobs", "top_p", "user", "verbosity",
    }
)  # fmt: skip
# Headers that belong to the connection, to the body, or to the key.
OWN_HEADERS = frozenset(
    {
        "accept", "accept-encoding", "authorization", "connection", "cookie", "expect", "host", "keep-alive",
        "proxy-authorization", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
    }
)  # fmt: skip
_EFFORT = re.compile(r"[a-z][a-z0-9_-]{0,31}")
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}")  # RFC 9110, 5.6.2
_HEADER_VALUE = re.compile(r"[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?")


class Tier(StrEnum):
    """A service tier of an endpoint, which determines price and speed."""

    STANDARD = "standard"
    FLEX = "flex"  # half the price, slow, and now and then without capacity
    PRIORITY = "priority"

    @property
    def sent(self) -> str:
        """The tier's name in a request."""
        return "default" if self is Tier.STANDARD else self.value


class TierFallback(StrEnum):
    """The treatment of an item whose tier still has no capacity when the waiting time is over."""

    STANDARD = "standard"  # the item is asked at the standard tier
    WAIT = "wait"  # the item waits without limit


def _effort(effort: str) -> str:
    if not _EFFORT.fullmatch(effort):
        raise ValueError(
            f"{effort[:40]!r} is not a lower-case word that an endpoint could know: low, medium, high, ..."
        )
    return effort


def _body(body: Any) -> Any:
    if not isinstance(body, Mapping):
        return body
    for name, value in body.items():
        if name in OWN_FIELDS:
            raise ValueError(f"{name!r} is set by Tamis: {OWN_FIELDS[name]}")
        if not name or value is None:
            raise ValueError(f"{name!r} has no name or no value: omit it")
    try:
        text = json.dumps(body, allow_nan=False, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"it is not JSON: {error}") from error
    if len(text) > MOST_BODY:
        raise ValueError(f"it has {len(text):,} characters as JSON; at most {MOST_BODY:,} are allowed")
    if _depth(body) > DEEPEST_BODY:
        raise ValueError(f"its values are nested more than {DEEPEST_BODY} deep")
    if UNSTORABLE.search(text) or "\\u0000" in text:
        raise ValueError("it contains a character that the ledger cannot store")
    return body


def checked_headers(headers: dict[str, str]) -> dict[str, str]:
    """Return the headers if they may be added to Tamis's own headers.

    Raises `ValueError` for a forbidden header. The message never contains a value, which may be a secret.
    """
    if len(headers) > MOST_HEADERS:
        raise ValueError(f"there are {len(headers)}; at most {MOST_HEADERS} are allowed")
    names = [name.lower() for name in headers]
    for name, value in headers.items():
        lower = name.lower()
        if not _TOKEN.fullmatch(name):
            raise ValueError(f"{name[:100]!r} is not a header name: use letters, digits and -, without a colon")
        if lower in OWN_HEADERS or lower.startswith("content-"):
            raise ValueError(
                f"{name!r} is set by Tamis" + (": set TAMIS_LLM_API_KEY" if lower == "authorization" else "")
            )
        if len(value) > LONGEST_HEADER or not _HEADER_VALUE.fullmatch(value):
            raise ValueError(
                f"the value of {name!r} must be one line of 1 to {LONGEST_HEADER:,} printable ASCII characters "
                "without blanks around it"
            )
        if names.count(lower) > 1:
            raise ValueError(f"{name!r} is given twice")
    return headers


def _depth(value: object) -> int:
    """Return how deep containers are nested. The recursion is safe: `json.dumps` has accepted the value before."""
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else ()
    return 1 + max(map(_depth, inner), default=0) if isinstance(value, Mapping | list | tuple) else 0


Effort = Annotated[str, AfterValidator(_effort), WithJsonSchema({"type": "string", "pattern": f"^{_EFFORT.pattern}$"})]
ExtraBody = Annotated[
    dict[str, Any],
    BeforeValidator(_body),
    WithJsonSchema({"type": "object", "additionalProperties": True}),
]
ExtraHeaders = Annotated[dict[str, str], AfterValidator(checked_headers)]
Patience = Annotated[float, Field(ge=0, le=7 * 86_400)]  # seconds


class Steering(Frozen):
    """Further options of a model's requests, and the service tier. Without a field, the worker's setting applies."""

    model_config = ConfigDict(extra="forbid")

    reasoning_effort: Effort | None = Field(
        default=None, description="A level that the endpoint supports: none, minimal, low, medium, high, xhigh."
    )
    extra_body: ExtraBody = Field(default_factory=dict, description="Provider-specific fields of the request's body.")
    extra_headers: ExtraHeaders = Field(
        default_factory=dict,
        repr=False,
        description="Stored in the ledger as plain text: set secrets at the workers instead.",
    )
    tier: Tier | None = Field(default=None, description="None: no tier is sent.")
    tier_patience: Patience | None = Field(
        strict=True,  # a boolean is not a number of seconds
        default=None,
        description="Seconds that an item waits for its tier's capacity.",
    )
    tier_fallback: TierFallback | None = Field(
        default=None, description="The action if the tier still lacks capacity after `tier_patience`."
    )

    def over(self, under: "Steering") -> "Steering":
        """Return this steering with missing fields taken from `under`. Bodies and headers are merged field by field."""
        if not self.model_fields_set:
            return under
        set_here = {name: value for name, value in self if value is not None}
        named = {name.lower() for name in self.extra_headers}
        kept = {name: value for name, value in under.extra_headers.items() if name.lower() not in named}
        merged = dict(under) | set_here
        merged["extra_body"] = {**under.extra_body, **self.extra_body}
        merged["extra_headers"] = {**kept, **self.extra_headers}
        return Steering.model_construct(**merged)

    @property
    def unbound(self) -> str | None:
        """The first field or header that could change the model or its price, as text; None if there is none."""
        fields = (f"the field {name!r} in the body" for name in self.extra_body if name not in HARMLESS_FIELDS)
        return next(iter((*fields, *(f"the header {name!r}" for name in self.extra_headers))), None)

    @property
    def nothing(self) -> bool:
        """True if no field is set."""
        return not self.set_fields

    @property
    def set_fields(self) -> dict[str, Any]:
        """The fields that are set, as JSON values."""
        return {name: value for name, value in self.model_dump(mode="json").items() if value not in (None, {})}

    @property
    def content(self) -> dict[str, Any]:
        """The fields that can change an answer, as JSON. The tier is omitted: it changes only price and speed."""
        return {name: value for name, value in self.set_fields.items() if not name.startswith("tier")}

    @property
    def options(self) -> dict[str, Any]:
        """The fields that this steering adds to a request's body."""
        options = {
            "reasoning_effort": self.reasoning_effort,
            "service_tier": None if self.tier is None else self.tier.sent,
        }
        return {name: value for name, value in options.items() if value is not None} | self.extra_body

    @property
    def patience(self) -> float:
        """The seconds that an item waits for capacity before the fallback."""
        return TIER_PATIENCE if self.tier_patience is None else self.tier_patience

    @property
    def waits(self) -> bool:
        """True if an item waits for its tier without limit."""
        return self.tier_fallback is TierFallback.WAIT


class SteeringView(Frozen):
    """A steering (options of a model's requests, and the tier) for display: names of headers, never their values."""

    reasoning_effort: str | None = None
    extra_body: dict[str, Any] = Field(default_factory=dict)
    extra_headers: tuple[str, ...] = ()  # names of the headers
    tier: Tier | None = None
    tier_patience: float | None = None
    tier_fallback: TierFallback | None = None

    @classmethod
    def of(cls, steering: Steering) -> "SteeringView":
        """Return a steering without the values of its headers, which may be secret."""
        return cls.model_validate({**steering.set_fields, "extra_headers": tuple(steering.extra_headers)})

    @property
    def words(self) -> str:
        """The steering in a line: reasoning effort low, extra body {"top_p": 0.9}, extra headers X-Team, tier flex."""
        parts = [
            f"reasoning effort {self.reasoning_effort}" if self.reasoning_effort else "",
            f"extra body {json.dumps(self.extra_body, ensure_ascii=False)}" if self.extra_body else "",
            f"extra headers {', '.join(self.extra_headers)}" if self.extra_headers else "",
            f"tier {self.tier.value}" if self.tier else "",
            f"waiting {self.tier_patience:g} s for capacity" if self.tier_patience is not None else "",
            f"then {self.tier_fallback.value}" if self.tier_fallback else "",
        ]
        return ", ".join(part for part in parts if part)


NO_STEERING = Steering()
