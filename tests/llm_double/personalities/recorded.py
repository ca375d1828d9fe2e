"""Answers each record as a file says: a judge whose answers are known, because they were recorded or drawn."""

import json
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from ..answers import source_data
from ..asked import Asked
from ..errors import Problem
from .behaviour import Behaviour, JsonObject
from .token_probabilities import token_of

_TOKEN = re.compile(r"\s*\w+|\s*[^\w\s]|\s+")


@dataclass(frozen=True)
class Recorded(Behaviour):
    """What a judge said of each record, and how sure its tokens were of the decision.

    The file has a JSON object a line: `data`, the lines of the record's source data as a prompt shows them; `content`,
    the answer's text; and, where it is known, `decision`: the character `at` which the decision's token begins, and the
    probability of each of the `tokens` that could stand there. A record that is not in the file is answered 400.
    """

    file: str

    def refusal(self, asked: Asked) -> Problem | None:
        """400 where the file has no answer for the record."""
        if self._entry(asked) is None:
            return Problem(400, f"No answer is recorded for this record: {source_data(asked.prompt)[:100]!r}")
        return None

    def content(self, asked: Asked, content: str) -> str:
        """The answer as it is in the file."""
        entry = self._entry(asked)
        return content if entry is None else str(entry["content"])

    def completion(self, asked: Asked, completion: JsonObject) -> JsonObject:
        """The probabilities of its tokens, where they are asked for and the decision's are known."""
        entry = self._entry(asked)
        if entry is None or "decision" not in entry or not asked.body.get("logprobs") or not completion["choices"]:
            return completion
        decision, listed = entry["decision"], int(asked.body.get("top_logprobs") or 0)
        tokens = logprobs(entry["content"], int(decision["at"]), decision["tokens"], listed)
        first, *others = completion["choices"]
        return completion | {"choices": [first | {"logprobs": {"content": tokens, "refusal": None}}, *others]}

    def _entry(self, asked: Asked) -> dict[str, Any] | None:
        return self._entries.get(source_data(asked.prompt))

    @cached_property
    def _entries(self) -> dict[str, dict[str, Any]]:
        with Path(self.file).open(encoding="utf-8") as lines:
            return {entry["data"]: entry for entry in map(json.loads, lines)}


def logprobs(content: str, at: int, alternatives: dict[str, float], listed: int) -> list[JsonObject]:
    """The tokens of a text with their logarithms: all are certain but the one at a place, which has alternatives.

    Raises ValueError where none of the alternatives stands at that place.
    """
    chosen = next((token for token in alternatives if content.startswith(token, at)), None)
    if chosen is None:
        raise ValueError(f"none of {sorted(alternatives)} stands at {at} in {content!r}")
    likeliest = dict(sorted(alternatives.items(), key=lambda one: -one[1])[:listed])
    before, after = (
        [token_of(text, {}) for text in _TOKEN.findall(part)] for part in (content[:at], content[at + len(chosen) :])
    )
    return [*before, token_of(chosen, likeliest, alternatives[chosen]), *after]
