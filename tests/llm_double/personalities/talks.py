"""Puts prose around its JSON."""

from dataclasses import dataclass

from ..asked import Asked
from .behaviour import Behaviour

OBEYED = "JSON object"  # in the last message: then the object alone
BEFORE = "Sure! Here is my assessment:\n\n"
BEHIND = "\n\nLet me know if you would like me to look at anything else."


def asks_for_the_object_alone(asked: Asked) -> bool:
    """Does the last message of the conversation ask for nothing but the object?

    What stands further up (a system message, a schema behind a long record) a talkative model has forgotten.
    """
    return OBEYED in asked.last_message


@dataclass(frozen=True)
class Talks(Behaviour):
    """Prose before the answer and behind it."""

    obeys: bool = True  # gives the object alone where the last message asks for that

    def content(self, asked: Asked, content: str) -> str:
        """The content between two sentences."""
        if self.obeys and asks_for_the_object_alone(asked):
            return content
        return f"{BEFORE}{content}{BEHIND}"
