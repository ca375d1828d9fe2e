"""Replayed judges: a model's answers about the records of a labelled set, written as a file for the LLM double.

Recorded answers come from a real model, simulated answers follow the labels (`benchmarks.simulated_judges`). Both have
the form that `tamis screen` requests: a verdict for each criterion, a status, a confidence, and the probabilities of
the status's token. The verdicts support the decision: a criterion that is not met is "not met by silence", which needs
no quote.
"""

import csv
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tamis_schemas import Inclusion, InclusionStatus, Item, Verdict
from tamis_schemas.records.item import shown_fields
from tamis_worker.operations.prompt import source_data

from .labelled_sets import DATA
from .simulated_judges import Kind, judge

HEADING = "## Source Data\n"
DECIDES = '"status": "'  # before the token that decides
RECORDED = DATA / "recorded" / "kwok_2020_gpt4omini" / "records.csv"


@dataclass(frozen=True)
class Judgement:
    """A judge's answer about one record."""

    included: bool
    probability: float  # of inclusion, from the decision's token
    rationale: str

    @property
    def confidence(self) -> float:
        """The stated confidence: the probability of the decision, rounded to whole per cent as models do."""
        return round(self.probability if self.included else 1 - self.probability, 2)


def recorded_judgements() -> list[Judgement]:
    """Return GPT-4o-mini's answers about the 2,477 records of Kwok 2020, with token probabilities and reasons."""
    with RECORDED.open(encoding="utf-8-sig", newline="") as stream:
        return [_recorded(row) for row in csv.DictReader(stream)]


def simulated_judgements(labels: Sequence[bool], kind: Kind, seed: int) -> list[list[Judgement]]:
    """Return for each simulated judge its answers about records with these labels."""
    said = judge(labels, kind, seed)
    return [[Judgement(one >= 1 / 2, one, "as drawn") for one in own] for own in said.probabilities.tolist()]


def write_answers(path: Path, operation: Inclusion, items: Iterable[Item], judgements: Iterable[Judgement]) -> None:
    """Write the file for the double's personality `recorded`. If records look the same, the first answer is kept."""
    with path.open("w", encoding="utf-8") as stream:
        known: set[str] = set()
        for item, judgement in zip(items, judgements, strict=True):
            entry = answer(operation, item, judgement)
            if entry["data"] not in known:
                known.add(entry["data"])
                stream.write(json.dumps(entry) + "\n")


def answer(operation: Inclusion, item: Item, judgement: Judgement) -> dict[str, Any]:
    """Return a record's answer as an entry of the double's file."""
    include, exclude = str(InclusionStatus.INCLUDE), str(InclusionStatus.EXCLUDE)
    content = json.dumps(
        {
            "rationale": judgement.rationale,
            "verdicts": {
                one.label: {"quote": None, "verdict": str(_verdict(excludes=one.excludes, included=judgement.included))}
                for one in operation.criteria.labelled()
            },
            "status": include if judgement.included else exclude,
            "confidence": judgement.confidence,
        }
    )
    return {
        "data": source_data(shown_fields(item)).removeprefix(HEADING),
        "content": content,
        "decision": {
            "at": content.rindex(DECIDES) + len(DECIDES),
            "tokens": {include: judgement.probability, exclude: 1 - judgement.probability},
        },
    }


def _verdict(*, excludes: bool, included: bool) -> Verdict:
    if excludes:
        return Verdict.NOT_MET
    return Verdict.MET if included else Verdict.SILENT


def _recorded(row: dict[str, str]) -> Judgement:
    said = float(row["llm_token_probability"]) / 100  # of the token that it wrote, which is not always the likelier one
    included = row["llm_include"] == "True"
    return Judgement(included, said if included else 1 - said, str(_reason(row["llm_answer"])))


def _reason(text: str) -> str:
    try:
        return str(json.loads(text)["Reason"])
    except (ValueError, KeyError, TypeError):
        return text  # an answer that was cut off, or of another shape
