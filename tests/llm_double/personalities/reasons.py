"""Thoughts beside the content, in a field of their own."""

from dataclasses import dataclass

from ..asked import Asked
from .behaviour import Behaviour, JsonObject
from .thinks import THOUGHT


@dataclass(frozen=True)
class Reasons(Behaviour):
    """A message whose thoughts stand in `reasoning_content` (DeepSeek, llama.cpp, vLLM) or `reasoning` (newer vLLM)."""

    field: str = "reasoning_content"

    def message(self, asked: Asked, message: JsonObject) -> JsonObject:
        """The message with its thoughts."""
        return message | {self.field: THOUGHT}


@dataclass(frozen=True)
class ReasonsOnly(Behaviour):
    """A message that has everything among its thoughts, the answer too, and no content, as LM Studio sends some."""

    field: str = "reasoning_content"
    thinks: bool = True  # False: the answer alone stands there
    null: bool = False  # content is null (OpenRouter), not an empty text

    def message(self, asked: Asked, message: JsonObject) -> JsonObject:
        """The message with its content put aside."""
        answer = message["content"] or ""
        text = f"{THOUGHT}\n\n{answer}" if self.thinks else answer
        return message | {"content": None if self.null else "", self.field: text}
