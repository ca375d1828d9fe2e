"""Sends the content as a list of parts, with a thought among them."""

from dataclasses import dataclass

from ..asked import Asked
from .behaviour import Behaviour, JsonObject
from .thinks import THOUGHT


@dataclass(frozen=True)
class ContentParts(Behaviour):
    """A part with a thought, then the text in two parts."""

    thought: str = "thinking"  # as Mistral writes it; "reasoning": a type with a text; "": no thought

    def message(self, asked: Asked, message: JsonObject) -> JsonObject:
        """The message with its content in parts."""
        content = message["content"]
        if not isinstance(content, str):
            return message
        parts: list[JsonObject] = []
        if self.thought == "thinking":
            parts.append({"type": "thinking", "thinking": [{"type": "text", "text": THOUGHT}]})
        elif self.thought:
            parts.append({"type": self.thought, "text": THOUGHT})
        middle = len(content) // 2
        parts += [{"type": "text", "text": half} for half in (content[:middle], content[middle:])]
        return message | {"content": parts}
