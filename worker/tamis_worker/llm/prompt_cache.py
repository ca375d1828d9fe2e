"""Options that help an endpoint to read the common beginning of many prompts once. Pure; none can change an answer.

The common beginning of a batch's prompts is the schema of the answer and the system message.

| parameter | where it goes | for |
|---|---|---|
| prompt_cache_key | the body | endpoints of many machines with a cache each: the same key, the same machine |
| prompt_cache_options | the body | OpenAI from gpt-5.6 on, where writing costs 1.25 x: only what is marked is kept |
| prompt_cache_breakpoint | the system message | the same; nothing is read but what ends at a mark |
| cache_control | the system message | Anthropic's models behind a gateway (OpenRouter, LiteLLM) |

All of them are options of a request: an endpoint that refuses one by its name is asked without it from then on.
"""

import hashlib
import json
from collections.abc import Sequence
from enum import StrEnum
from functools import lru_cache
from typing import Any

from .chat import Message, Schema

MINIMUM = 1024  # tokens: a shorter beginning is cached nowhere (Anthropic's and some of OpenAI's models ask for more)
FEWEST_CHARACTERS = 3  # of a token, in prose or JSON of Latin script: what is shorter cannot reach the minimum
KEY_LENGTH = 32  # characters; OpenAI takes 64

KEY = "prompt_cache_key"
OPTIONS = "prompt_cache_options"
OPENAI_MARK = "prompt_cache_breakpoint"
ANTHROPIC_MARK = "cache_control"
MARKS = (OPENAI_MARK, ANTHROPIC_MARK)  # parameters of a part of a message, not of the body
PARAMETERS = frozenset({KEY, OPTIONS, *MARKS})


class Breakpoint(StrEnum):
    """How an endpoint is told where the common beginning ends."""

    OPENAI = "openai"
    ANTHROPIC = "anthropic"


def cache_options(
    model: str, messages: Sequence[Message], schema: Schema, breakpoint_: Breakpoint | None
) -> dict[str, Any]:
    """The options of a request: key and mark where its beginning may be long enough, with which nothing else changes.

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
    """The body of a request with its marks where they belong: on the system message, which then is a list of one part.

    A body without marks stays as it is; marks of one that begins with no system message are dropped.
    """
    marks = {name: body[name] for name in MARKS if name in body}
    if not marks:
        return body
    first, *others = body["messages"]
    if first["role"] == "system":
        first = {**first, "content": [{"type": "text", "text": first["content"], **marks}]}
    return {name: value for name, value in body.items() if name not in marks} | {"messages": [first, *others]}


def characters_in_common(messages: Sequence[Message], schema: Schema) -> int:
    """The length of the beginning that a prompt shares with those of other records: system message and schema."""
    return len(json.dumps(schema)) + sum(len(message.content) for message in messages[:1] if message.role == "system")


def _may_reach_the_minimum(messages: Sequence[Message], schema: Schema) -> bool:
    enough = MINIMUM * FEWEST_CHARACTERS
    return len(messages[0].content) >= enough or characters_in_common(messages, schema) >= enough


@lru_cache(maxsize=64)  # a worker asks for few batches at a time, about thousands of records each
def _key(model: str, beginning: str) -> str:
    """Two schemas after one system message share a key, and so a machine, which keeps both."""
    return hashlib.sha256(f"{model}\0{beginning}".encode("utf-8", "replace")).hexdigest()[:KEY_LENGTH]
