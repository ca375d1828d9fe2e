"""Usage that is missing, zero, absurd or bare."""

from dataclasses import dataclass
from typing import Any

from ..asked import Asked
from .behaviour import Behaviour, JsonObject

TOKENS = ("prompt_tokens", "completion_tokens", "total_tokens")


class UsageMissing(Behaviour):
    """No usage at all."""

    def usage(self, asked: Asked, usage: JsonObject | None) -> JsonObject | None:
        """None."""
        return None


class UsageZero(Behaviour):
    """Zero tokens of each kind."""

    def usage(self, asked: Asked, usage: JsonObject | None) -> JsonObject | None:
        """All zero."""
        return dict.fromkeys(TOKENS, 0)


@dataclass(frozen=True)
class UsageOfCutPrompts(Behaviour):
    """A server that drops the rest of a long prompt, and counts what it has read."""

    context: int = 1_000  # tokens

    def usage(self, asked: Asked, usage: JsonObject | None) -> JsonObject | None:
        """The tokens of the prompt, `context` at most."""
        return usage and usage | {"prompt_tokens": min(usage["prompt_tokens"], self.context)}


@dataclass(frozen=True)
class UsageAbsurd(Behaviour):
    """Numbers that cannot be: 10^11 tokens, one of so many digits, or any other value in a number's place."""

    digits: int = 12  # 4,000 are the most that JSON readers of every kind take
    instead: Any = None

    def usage(self, asked: Asked, usage: JsonObject | None) -> JsonObject | None:
        """The same absurd value for each kind."""
        return dict.fromkeys(TOKENS, 10 ** (self.digits - 1) if self.instead is None else self.instead)


class UsageNullDetails(Behaviour):
    """The details of usage are null, and so is everything else that may be left out."""

    def usage(self, asked: Asked, usage: JsonObject | None) -> JsonObject | None:
        """The usage without its details."""
        return usage and usage | {"prompt_tokens_details": None, "completion_tokens_details": None}

    def completion(self, asked: Asked, completion: JsonObject) -> JsonObject:
        """The completion with nulls."""
        return {"service_tier": None, "system_fingerprint": None} | completion
