"""Thinks aloud, in the content itself: a server that does not part a model's thoughts from its answer."""

import json
from dataclasses import dataclass

from ..asked import Asked
from .behaviour import Behaviour

THOUGHT = "The question is whether the record meets what is asked. Let me weigh the abstract against the criteria."
SECOND_THOUGHT = "Wait, the setting matters as well. I should look at it once more before I answer."
DRAFT = {"decision": "draft", "confidence": 0, "note": "not final"}


@dataclass(frozen=True)
class Thinks(Behaviour):
    """A thought, then the answer."""

    tag: str = "<think>"
    opens: bool = True  # False: only the closing tag is there; the chat template has written the opening one
    closes: bool = True  # False: the answer stands inside the thought, which never ends
    thoughts: int = 1
    drafts: bool = False  # objects inside the thought that are not the answer

    def content(self, asked: Asked, content: str) -> str:
        """The content behind its thoughts."""
        end = f"{self.tag[0]}/{self.tag[1:]}"
        inner = [THOUGHT, *[SECOND_THOUGHT] * (self.thoughts - 1)]
        if self.drafts:
            inner = [f"{text} Perhaps {json.dumps(DRAFT)}, or {json.dumps(_other(content))}?" for text in inner]
        if not self.closes:
            return f"{self.tag}\n{inner[0]} So the answer would be {content}"
        blocks = [f"{self.tag}\n{text}\n{end}" for text in inner]
        written = "\n".join(blocks)
        return f"{written if self.opens else written.removeprefix(self.tag)}\n\n{content}"


class LeaksChannels(Behaviour):
    """Leaves the channels of the harmony format in the content, as servers of gpt-oss do that do not parse them."""

    def content(self, asked: Asked, content: str) -> str:
        """The analysis channel, then the final one with the content."""
        return (
            f"<|channel|>analysis<|message|>{THOUGHT}<|end|>"
            f"<|start|>assistant<|channel|>final<|message|>{content}<|return|>"
        )


def _other(content: str) -> object:
    """Another object of the same keys: what a model considers before it decides otherwise."""
    try:
        value = json.loads(content)
    except ValueError:
        return {"answer": None}
    return dict.fromkeys(value) if isinstance(value, dict) else {"answer": None}
