"""Fences its JSON."""

from dataclasses import dataclass

from ..asked import Asked
from .behaviour import Behaviour
from .talks import BEFORE, BEHIND, asks_for_the_object_alone


class Fenced(Behaviour):
    """One fence, and nothing around it."""

    def content(self, asked: Asked, content: str) -> str:
        """The content in its fence."""
        return f"```json\n{content}\n```"


@dataclass(frozen=True)
class FencedInProse(Behaviour):
    """A fence with prose around it; obeys the last message as `talks` does."""

    obeys: bool = True

    def content(self, asked: Asked, content: str) -> str:
        """The fence between two sentences."""
        if self.obeys and asks_for_the_object_alone(asked):
            return content
        return f"{BEFORE}```json\n{content}\n```{BEHIND}"
