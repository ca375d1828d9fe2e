"""Options that let an endpoint read the common beginning of many prompts once. Pure; none changes an answer.

The common beginning of a batch's prompts is the schema of the answer and the system message.

| parameter | place | for |
|---|---|---|
| prompt_cache_key | the body | endpoints of many machines with a cache each: same key, same machine |
| prompt_cache_options | the body | OpenAI from gpt-5.6 on, where writing costs 1.25 x: only marked text is kept |
| prompt_cache_breakpoint | the system message | the same; only text that ends at a mark is read |
| cache_control | the system message | Anthropic's models behind a gateway (OpenRouter, LiteLLM) |

All are options of a request: after an endpoint refuses one by name, requests omit it.
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
    """The parameter that marks the end of the common beginning."""

    OPENAI = "openai"
    ANTHROPIC = "anthropic"


def cache_options(
    model: str, messages: Sequence[Message], schema: Schema, breakpoint_: Breakpoint | None
) -> dict[str, Any]:
    """Return the options of a request: key and mark if its beginning may be long enough.

    Without a breakpoint no mark is set.
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
    """Return the body of a request with its marks on the system message, which becomes a list of one part.

    A body without marks stays; without a leading system message, marks are dropped.
    """
    marks = {name: body[name] for name in MARKS if name in body}
    if not marks:
        return body
    first, *others = body["messages"]
    if first["role"] == "system":
        first = {**first, "content": [{"type": "text", "text": first["content"], **marks}]}
    return {name: value for name, value in body.items() if name not in marks} | {"messages": [first, *others]}


def characters_in_common(messages: Sequence[Message], schema: Schema) -> int:
    """Return the length of the beginning that prompts of different records share: system message and schema."""
    return len(json.dumps(schema)) + sum(len(message.content) for message in messages[:1] if message.role == "system")


def _may_reach_the_minimum(messages: Sequence[Message], schema: Schema) -> bool:
    enough = MINIMUM * FEWEST_CHARACTERS
    return len(messages[0].content) >= enough or characters_in_common(messages, schema) >= enough


@lru_cache(maxsize=64)  # a worker has few batches at a time, of thousands of records each
def _key(model: str, beginning: str) -> str:
    """Return one key for all schemas after a system message: they share a machine, which caches each."""
    return hashlib.sha256(f"{model}\0{beginning}".encode("utf-8", "replace")).hexdigest()[:KEY_LENGTH]
