"""Accepts `response_format` and ignores it, as Anthropic's OpenAI-compatible layer and several gateways do."""

from ..asked import Asked
from .behaviour import Behaviour, Shape


class IgnoresFormat(Behaviour):
    """Takes any `response_format` without a word: the model sees the messages alone, and nothing binds it."""

    def shape(self, asked: Asked, shape: Shape) -> Shape:
        """A shape of nothing."""
        return Shape()
