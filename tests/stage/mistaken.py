"""A model that errs at known rates: answers scripted from a human's labels, which the model itself is never shown."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from llm_double import Scripted


@dataclass(frozen=True)
class Mistaken:
    """What the double answers about one record."""

    item_id: str
    title: str
    human: bool  # the label
    include: bool  # the answer
    confidence: float
    ends_with_title: bool  # the record has no field behind it, so its prompt ends there

    @property
    def scripted(self) -> Scripted:
        """The answer of an inclusion with one criterion, for the prompt that shows this title, which it quotes."""
        verdict = "met" if self.include else "not met"
        answer = {
            "rationale": f"By its title and abstract the criterion is {verdict}.",
            "verdicts": {"I1": {"quote": self.title or None, "verdict": verdict}},
            "status": "include" if self.include else "exclude",
            "confidence": self.confidence,
        }
        return Scripted(f"title: {self.title}" + ("" if self.ends_with_title else "\n"), answer)


def mistaken(
    records: Sequence[Mapping[str, Any]], *, false_negative: float, false_positive: float, seed: int
) -> list[Mistaken]:
    """An answer for every record with `id`, `title` and `label`; wrong at these rates, and then less sure of itself."""
    draw = random.Random(seed)
    answers = []
    for record in records:
        human = record["label"] == "1"
        wrong = draw.random() < (false_negative if human else false_positive)
        sure = draw.betavariate(4, 3) if wrong else draw.betavariate(9, 2)
        title = " ".join(record["title"].split())
        last = [name for name in record if record[name] and name != "label"][-1]
        include = human is not wrong
        answers.append(Mistaken(record["id"], title, human, include, round(sure, 2), ends_with_title=last == "title"))
    return answers
