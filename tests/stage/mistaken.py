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
    title: str  # as a line of the prompt, with the line's end where another line follows
    human: bool  # the label
    include: bool  # the answer
    confidence: float

    @property
    def scripted(self) -> Scripted:
        """The answer of an inclusion with one criterion, for the prompt that shows this title."""
        verdict = "met" if self.include else "not met"
        answer = {
            "rationale": f"By its title and abstract the criterion is {verdict}.",
            "verdicts": {"I1": {"quote": None, "verdict": verdict}},
            "status": "include" if self.include else "exclude",
            "confidence": self.confidence,
        }
        return Scripted(f"title: {self.title}", answer)


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
        names = [name for name in record if record[name] and name != "label"]
        title = " ".join(record["title"].split()) + ("" if names[-1] == "title" else "\n")
        answers.append(Mistaken(record["id"], title, human, human is not wrong, round(sure, 2)))
    return answers
