"""Requests as personalities see them, and as an openai client sends them."""

from typing import Any

import openai

from llm_double.asked import Asked

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "decision": {"type": "string", "enum": ["include", "exclude"]},
        "confidence": {"type": "number", "minimum": 0, "maximum": 1},
        "met": {"type": "boolean"},
    },
    "required": ["decision", "confidence", "met"],
    "additionalProperties": False,
}
FORMAT = {"type": "json_schema", "json_schema": {"name": "x", "strict": True, "schema": SCHEMA}}


def asked(
    *texts: str, schema: dict[str, Any] | None = None, number: int = 1, seen: int = 0, now: float = 0.0, **more: Any
) -> Asked:
    """A request whose messages are these texts, the last one the user's, the others the system's."""
    key = more.pop("key", "")
    headers = more.pop("headers", {})
    roles = ["system"] * (len(texts) - 1) + ["user"]
    messages = [{"role": role, "content": text} for role, text in zip(roles, texts, strict=True)]
    body = {"model": "m", "messages": messages, **more}
    if schema is not None:
        body["response_format"] = {
            "type": "json_schema",
            "json_schema": {"name": "x", "strict": True, "schema": schema},
        }
    return Asked(body, number, seen, key, headers, now=now)


async def ask(client: openai.AsyncOpenAI, *texts: str, **more: Any) -> Any:
    """The completion for these texts, asked with a strict schema; the last is the user's, the others the system's."""
    body = asked(*texts, **({"response_format": FORMAT} | more)).body
    return await client.chat.completions.create(**body)
