"""A completion as an endpoint sends it."""

import time
from typing import Any

from .asked import CHARACTERS_PER_TOKEN, Asked, text_of, tokens_of
from .personalities.character import Character
from .script import Fault, Kind


def completion_of(asked: Asked, content: str | None, character: Character, fault: Fault | None) -> dict[str, Any]:
    """The completion around what the model wrote, a fault's harm included; its usage is what was used."""
    finish_reason = "stop"
    refusal = None
    match fault.kind if fault else None:
        case Kind.MALFORMED:
            content = (fault and fault.content) or "The record should be included, with high confidence."
        case Kind.WRONG_SCHEMA:
            content = (fault and fault.content) or '{"unexpected": true}'
        case Kind.REFUSAL:
            content, refusal = None, (fault and fault.message) or "I'm sorry, I cannot help with that."
        case Kind.CONTENT_FILTER:
            content, finish_reason = "", "content_filter"
        case Kind.TRUNCATED:
            content, finish_reason = (content or "")[: len(content or "") // 2], "length"
        case Kind.EMPTY:
            content = ""
        case _:
            pass
    if asked.budget is not None and content and tokens_of(content) > asked.budget:
        content, finish_reason = content[: asked.budget * CHARACTERS_PER_TOKEN], "length"
    message = character.message(asked, {"role": "assistant", "content": content, "refusal": refusal})
    choice = {"index": 0, "message": message, "finish_reason": finish_reason}
    return {
        "id": f"chatcmpl-double{asked.number}",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": f"{asked.model}-double",
        "choices": [] if fault and fault.kind is Kind.NO_CHOICES else [choice],
        "usage": _usage(asked, message),
    }


def _usage(asked: Asked, message: dict[str, Any]) -> dict[str, Any]:
    prompt, thought = tokens_of(asked.prompt), tokens_of(_thought(message))
    written = tokens_of(_said(message)) + thought
    usage: dict[str, Any] = {
        "prompt_tokens": prompt,
        "completion_tokens": written,
        "total_tokens": prompt + written,
    }
    return usage | {"completion_tokens_details": {"reasoning_tokens": thought}} if thought else usage


def _said(message: dict[str, Any]) -> str:
    """Whatever the message says, wherever it stands."""
    called = "".join(str(call["function"]["arguments"]) for call in message.get("tool_calls") or ())
    return (text_of(message) if message["content"] else "") + str(message.get("refusal") or "") + called


def _thought(message: dict[str, Any]) -> str:
    return str(message.get("reasoning_content") or message.get("reasoning") or "")
