"""Options that let an endpoint process the common beginning of many prompts only once.

These options do not change answers.

The common beginning of a batch's prompts is the schema of the answer and the system message.

| parameter | place | for |
|---|---|---|
| prompt_cache_key | the body | endpoints of several machines: requests with the same key use the same cache |
| prompt_cache_options | the body | OpenAI from gpt-5.6 on, where writing costs 1.25 x: only marked text is cached |
| prompt_cache_breakpoint | the system message | OpenAI from gpt-5.6 on: marks the end of the text to cache |
| cache_control | the system message | Anthropic's models behind a gateway (OpenRouter, LiteLLM): marks the end too |

If an endpoint refuses a parameter by name, later requests omit it.
"""

import hashlib
import json
from collections.abc import Sequence
from enum import StrEnum
from functools import lru_cache
from typing import Any

from .chat import Message, Schema

MINIMUM = 1024  # tokens: no endpoint caches a shorter beginning (Anthropic's and some of OpenAI's models need more)
FEWEST_CHARACTERS = 3  # of a token, in prose or JSON of Latin script: shorter texts cannot reach the minimum
KEY_LENGTH = 32  # characters; OpenAI accepts 64

KEY = "prompt_cache_key"
OPTIONS = "prompt_cache_options"
OPENAI_MARK = "prompt_cache_breakpoint"
ANTHROPIC_MARK = "cache_control"
MARKS = (OPENAI_MARK, ANTHROPIC_MARK)  # parameters of a part of a message, not of the body
PARAMETERS = frozenset({KEY, OPTIONS, *MARKS})


class Breakpoint(StrEnum):
    """The parameter that marks the end of the prompts' common beginning, for the endpoint's cache."""

    OPENAI = "openai"
    ANTHROPIC = "anthropic"


def cache_options(
    model: str, messages: Sequence[Message], schema: Schema, breakpoint_: Breakpoint | None
) -> dict[str, Any]:
    """Return the options for the endpoint's cache: a key, and the mark of `breakpoint_`.

    If the common beginning is surely too short for a cache, both are omitted.
    """
    only_marked = {OPTIONS: {"mode": "explicit"}} if breakpoint_ is Breakpoint.OPENAI else {}
    if not messages or messages[0].role != "system":
        return only_marked
    if not _may_reach_the_minimum(messages, schema):
        return only_marked
    options = {KEY: _key(model, messages[0].content), **only_marked}
    match breakpoint_:
        case Breakpoint.OPENAI:
            options[OPENAI_MARK] = {"mode": "explicit"}
        case Breakpoint.ANTHROPIC:
            options[ANTHROPIC_MARK] = {"type": "ephemeral"}
    return options


def marked(body: dict[str, Any]) -> dict[str, Any]:
    """Return the body of a request with its cache marks moved into the system message.

    The content of this message becomes a list with one part. Without a leading system message, the marks are dropped.
    """
    marks = {name: body[name] for name in MARKS if name in body}
    if not marks:
        return body
    first, *others = body["messages"]
    if first["role"] == "system":
        first = {**first, "content": [{"type": "text", "text": first["content"], **marks}]}
    return {name: value for name, value in body.items() if name not in marks} | {"messages": [first, *others]}


def characters_in_common(messages: Sequence[Message], schema: Schema) -> int:
    """Return the number of characters that the prompts of all records share: system message and schema."""
    return len(json.dumps(schema)) + sum(len(message.content) for message in messages[:1] if message.role == "system")


def _may_reach_the_minimum(messages: Sequence[Message], schema: Schema) -> bool:
    enough = MINIMUM * FEWEST_CHARACTERS
    return len(messages[0].content) >= enough or characters_in_common(messages, schema) >= enough


@lru_cache(maxsize=64)  # a worker has few batches at a time, of thousands of records each
def _key(model: str, beginning: str) -> str:
    """Return the cache key of a model and a system message. The key does not depend on the schema of the answer."""
    return hashlib.sha256(f"{model}\0{beginning}".encode("utf-8", "replace")).hexdigest()[:KEY_LENGTH]
