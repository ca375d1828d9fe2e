"""Answers by calling a tool that nobody offered: gateways that make a tool of the schema."""

from dataclasses import dataclass

from ..asked import Asked
from .behaviour import Behaviour, JsonObject


@dataclass(frozen=True)
class ToolCalls(Behaviour):
    """No content; the answer is the arguments of a call."""

    finish_reason: str = "tool_calls"  # some say stop

    def message(self, asked: Asked, message: JsonObject) -> JsonObject:
        """The message with its content as arguments."""
        if not message["content"]:
            return message
        named = (asked.body.get("response_format") or {}).get("json_schema") or {}
        function = {"name": named.get("name") or "answer", "arguments": message["content"]}
        call = {"id": f"call_double{asked.number}", "type": "function", "function": function}
        return message | {"content": None, "tool_calls": [call]}

    def completion(self, asked: Asked, completion: JsonObject) -> JsonObject:
        """The completion with the reason why it ended."""
        choices = [
            choice | {"finish_reason": self.finish_reason} if choice["message"].get("tool_calls") else choice
            for choice in completion["choices"]
        ]
        return completion | {"choices": choices}
