"""One call as it came in, and how the double counts tokens."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

Schema: TypeAlias = dict[str, Any]

CHARACTERS_PER_TOKEN = 4
DEFAULT_TIER = "default"


def tokens_of(text: str) -> int:
    """The tokens of a text, by the double's own rule: four characters each, the last one perhaps shorter."""
    return -(-len(text) // CHARACTERS_PER_TOKEN)


def text_of(message: Mapping[str, Any]) -> str:
    """The text of a message, whose content is a string or a list of parts."""
    content = message["content"]
    if isinstance(content, list):
        return "".join(str(part.get("text") or "") for part in content)
    return str(content)


@dataclass(frozen=True)
class Asked:
    """A request for a completion. Time is of the machine's monotonic clock, in seconds."""

    body: dict[str, Any]
    number: int = 1  # of the call, from 1, since the start or the last reset
    seen: int = 0  # how often the same prompt came before
    key: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)  # names in small letters
    path: str = "/v1/chat/completions"
    now: float = 0.0

    @property
    def model(self) -> str:
        """The model that is asked for."""
        return str(self.body.get("model"))

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The conversation."""
        messages: list[dict[str, Any]] = self.body["messages"]
        return messages

    @cached_property
    def prompt(self) -> str:
        """The text of all messages."""
        return "\n".join([text_of(message) for message in self.messages])

    @property
    def last_message(self) -> str:
        """The text of the last message, which a model obeys best."""
        return text_of(self.messages[-1]) if self.messages else ""

    @cached_property
    def format(self) -> str:
        """The type of `response_format`: json_schema, json_object or text."""
        return str((self.body.get("response_format") or {}).get("type") or "text")

    @cached_property
    def schema(self) -> Schema | None:
        """The schema in `response_format`."""
        if self.format != "json_schema":
            return None
        schema: Schema = self.body["response_format"]["json_schema"]["schema"]
        return schema

    @property
    def budget(self) -> int | None:
        """The most tokens that the answer may have."""
        budget: int | None = self.body.get("max_completion_tokens", self.body.get("max_tokens"))
        return budget

    @property
    def tier(self) -> str:
        """The tier that is asked for."""
        return str(self.body.get("service_tier") or DEFAULT_TIER)


def serialised(schema: Schema) -> str:
    """The schema as a model reads it."""
    return json.dumps(schema, ensure_ascii=False, separators=(",", ":"))
