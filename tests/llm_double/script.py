"""What the double is told to do: options, scripted answers and faults. Times are in seconds."""

import hashlib
from dataclasses import asdict, dataclass, field, fields
from enum import StrEnum
from typing import Any, Self

from .personalities.personality import Personality


class Kind(StrEnum):
    """What can go wrong with a call."""

    # answered with an HTTP error
    RATE_LIMITED = "rate_limited"  # 429
    QUOTA = "quota"  # 429, insufficient_quota
    UNAUTHORIZED = "unauthorized"  # 401, quoting a masked key as OpenAI does
    FORBIDDEN = "forbidden"  # 403
    NOT_FOUND = "not_found"  # 404, model_not_found
    CONTEXT_LENGTH = "context_length"  # 400, context_length_exceeded
    RESPONSE_FORMAT = "response_format"  # 400, unsupported response_format
    BAD_REQUEST = "bad_request"  # 400
    SERVER_ERROR = "server_error"  # 500
    UNAVAILABLE = "unavailable"  # 503
    BAD_GATEWAY = "bad_gateway"  # 502, a proxy's page instead of JSON
    # no HTTP answer, or none that can be read
    SLOW = "slow"  # `delay` more seconds, then a usual answer
    TRICKLE = "trickle"  # a usual answer in ten pieces, `delay` apart
    DROPPED = "dropped"  # closed before the first byte
    CUT = "cut"  # reset in the middle of the answer
    ENDLESS = "endless"  # a usual answer, and behind it white space without end
    NOT_JSON = "not_json"  # 200, a body that is not JSON
    ERROR_IN_200 = "error_in_200"  # 200, an error object as the body (some gateways do)
    # answered 200, and paid for
    MALFORMED = "malformed"  # content that is not JSON
    WRONG_SCHEMA = "wrong_schema"  # content that is JSON, but not what was asked for
    REFUSAL = "refusal"
    CONTENT_FILTER = "content_filter"
    TRUNCATED = "truncated"
    EMPTY = "empty"
    NO_CHOICES = "no_choices"


@dataclass(frozen=True)
class Fault:
    """A fault and the calls that it hits: those that meet every condition given; without any, every call.

    Error answers, BAD_GATEWAY and DROPPED strike before anybody looks at the request. The other faults befall answers:
    a request that the options refuse is not hit, and does not use them up.
    """

    kind: Kind
    calls: tuple[int, ...] = ()  # by number, from 1, counted since the start or the last reset
    contains: str | None = None  # a text in the prompt
    probability: float | None = None  # drawn from seed, prompt and how often that prompt was seen: order is no matter
    seed: int = 0
    limit: int | None = None  # hit at most so many calls
    retry_after: str | None = None  # the header's text: seconds or an HTTP date
    retry_after_ms: int | None = None
    delay: float = 0.0  # before the fault shows
    content: str | None = None  # of the answer, for MALFORMED and WRONG_SCHEMA
    message: str | None = None  # of the error, instead of the usual one; {authorization} is what the request says there
    model: str | None = None  # that is asked; None: any

    def hits(self, number: int, prompt: str, seen: int, model: str = "") -> bool:
        """Does it hit the call of this number to a model, whose prompt came `seen` times before?"""
        if self.model is not None and self.model != model:
            return False
        if self.calls and number not in self.calls:
            return False
        if self.contains is not None and self.contains not in prompt:
            return False
        return self.probability is None or draw(f"{self.seed}|{seen}|{prompt}") < self.probability


@dataclass(frozen=True)
class Scripted:
    """The answer to every prompt that contains a text: JSON, or a content as it stands."""

    contains: str
    answer: dict[str, Any] | str
    model: str | None = None  # the only one that answers so; None: every model does


class Quotes(StrEnum):
    """Where the quotes of an inclusion's answer come from."""

    VERBATIM = "verbatim"  # words of the prompt's source data
    INVENTED = "invented"  # words that stand nowhere in it


@dataclass(frozen=True)
class Options:
    """How the double behaves where no fault strikes."""

    latency: float = 0.0
    api_key: str | None = None  # another key is answered 401; None: any key will do, and none too
    models: tuple[str, ...] = ()  # served; another is answered 404; none named: any will do
    response_formats: tuple[str, ...] = ("json_schema", "json_object")
    strict_openai: bool = False  # refuse schemas outside OpenAI's strict subset
    refuses: tuple[str, ...] = ()  # parameters of the request answered 400: max_tokens, temperature, ...
    max_context: int | None = None  # tokens; a longer prompt is answered 400
    rpm: int | None = None  # requests per minute
    tpm: int | None = None  # tokens per minute
    minute: float = 60.0  # how long the double's minute takes
    sliding: bool = False  # True: no minute, wherever it begins, holds more than rpm and tpm; False: refilling buckets
    concurrency: int | None = None  # calls in flight; more are answered 429
    remember: bool = True  # False: count only, for runs of many thousand calls
    faults: tuple[Fault, ...] = ()  # the first that hits is the one
    answers: tuple[Scripted, ...] = field(default=())  # the first that matches is the one
    quotes: str | None = None  # one of `Quotes`, for every quote of an answer that is not scripted; None: any text
    personalities: tuple[Personality, ...] = ()  # in the order in which they are asked; a name alone will do

    def __post_init__(self) -> None:
        object.__setattr__(self, "personalities", tuple(Personality.of(told) for told in self.personalities))

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Self:
        """From what `to_json` wrote; options left out keep their defaults. Raises TypeError for unknown names."""
        known: dict[str, Any] = dict(values)
        for name in (f.name for f in fields(cls)):
            if isinstance(known.get(name), list):
                known[name] = tuple(known[name])
        known["faults"] = tuple(
            Fault(**{**fault, "kind": Kind(fault["kind"]), "calls": tuple(fault.get("calls", ()))})
            for fault in known.get("faults", ())
        )
        known["answers"] = tuple(Scripted(**scripted) for scripted in known.get("answers", ()))
        if known.get("quotes") is not None:
            known["quotes"] = Quotes(known["quotes"])
        return cls(**known)


def draw(text: str) -> float:
    """A number from 0 to 1, the same for the same text."""
    return int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:7], "big") / 2**56
