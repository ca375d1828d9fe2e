"""Tells the probabilities of the answer's tokens, in the ways that servers do, or refuses to."""

import math
import re
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from ..asked import Asked
from ..errors import Problem
from .behaviour import Behaviour, JsonObject

DECISION = re.compile(r'"(?:status|value)"\s*:\s*"?(include|exclude|uncertain|true|false)')
WORDS = (("include", "exclude", "uncertain"), ("true", "false"))
LETTERS = 4  # of a token

# What is odd about the list, by its name: what is done to it.
ODDITIES: dict[str, Callable[[list[JsonObject]], Any]] = {
    "null": lambda tokens: None,
    "empty": lambda tokens: [],
    "positive": lambda tokens: [token | {"logprob": 3.5} for token in tokens],
    "impossible": lambda tokens: [token | {"logprob": -9999.0, "top_logprobs": []} for token in tokens],
    "other_words": lambda tokens: [token | {"token": "x", "bytes": None} for token in tokens],
    "half": lambda tokens: tokens[: len(tokens) // 2],
    "text": lambda tokens: "".join(str(token["token"]) for token in tokens),
    "bare": lambda tokens: [{"token": token["token"]} for token in tokens],
}


@dataclass(frozen=True)
class TokenProbabilities(Behaviour):
    """Tells them where they are asked for. Raises ValueError for an oddity that is none.

    The value that the answer decides for has the probability `sure`, without it one that the prompt draws between 0.55
    and 0.99; the others share the rest. Tokens have `letters` letters, of which none begins a value and ends it.
    """

    sure: float | None = None
    letters: int = LETTERS
    odd: str | None = None

    def __post_init__(self) -> None:
        if self.odd is not None and self.odd not in ODDITIES:
            raise ValueError(f"{self.odd!r} is no oddity of logprobs; there are {', '.join(ODDITIES)}")

    def completion(self, asked: Asked, completion: JsonObject) -> JsonObject:
        """The completion with the tokens of its first choice."""
        choice = next(iter(completion["choices"]), None)
        if choice is None or asked.body.get("logprobs") is not True:
            return completion
        tokens: Any = self._tokens(asked, choice["message"].get("content") or "")
        told = None if self.odd is None else ODDITIES[self.odd](tokens)
        choice = choice | {"logprobs": {"content": tokens if self.odd is None else told}}
        return completion | {"choices": [choice, *completion["choices"][1:]]}

    def _tokens(self, asked: Asked, content: str) -> list[JsonObject]:
        decided = DECISION.search(content)
        cuts = {0, len(content)}
        if decided is not None:
            cuts |= {decided.start(1), min(decided.start(1) + self.letters, decided.end(1)), decided.end(1)}
        for start, end in zip(sorted(cuts)[:-1], sorted(cuts)[1:], strict=True):
            cuts |= set(range(start, end, self.letters))
        places = sorted(cuts)
        tokens = [token_of(content[start:end], {}) for start, end in pairwise(places)]
        if decided is not None:
            at = places.index(decided.start(1))
            words = next(words for words in WORDS if decided[1] in words)
            tokens[at] = self._doubted(asked, decided[1], words, int(asked.body.get("top_logprobs") or 0))
        return tokens

    def _doubted(self, asked: Asked, decided: str, words: tuple[str, ...], alternatives: int) -> JsonObject:
        draw = zlib.crc32(asked.prompt.encode("utf-8", "surrogatepass")) / 2**32
        sure = 0.55 + 0.44 * draw if self.sure is None else self.sure
        rest = (1 - sure) / (len(words) - 1)
        shares = {word[: self.letters]: sure if word == decided else rest for word in words}
        listed = dict(sorted(shares.items(), key=lambda one: -one[1])[:alternatives])
        return token_of(decided[: self.letters], listed, sure)


@dataclass(frozen=True)
class RefusesTokenProbabilities(Behaviour):
    """Answers an error to whoever asks for them, as models that think do; every vendor in words of its own."""

    status: int = 400
    words: str = "Unsupported parameter: 'logprobs' is not supported with this model."

    def refusal(self, asked: Asked) -> Problem | None:
        """The error for a request that names one of the two parameters."""
        if asked.body.get("logprobs") is None and asked.body.get("top_logprobs") is None:
            return None
        return Problem(self.status, self.words)


def token_of(text: str, listed: dict[str, float], probability: float = 1.0) -> JsonObject:
    """A token as an endpoint tells it, with the likeliest ones that could have stood in its place."""
    return {
        "token": text,
        "bytes": list(text.encode()),
        "logprob": _log(probability),
        "top_logprobs": [
            {"token": word, "bytes": list(word.encode()), "logprob": _log(share)} for word, share in listed.items()
        ],
    }


def _log(probability: float) -> float:
    return math.log(probability) if probability > 0 else -9999.0
