"""The three labelled sets beside the checkout, in `../shared/data/screening`."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tamis_producer.intake import read_records
from tamis_schemas import SearchCriteria

SCREENING = Path(__file__).parents[2] / "shared" / "data" / "screening"
NAMES = ("synergy_Donners_2021", "cdss_ro", "ptsd_van_de_schoot_2017")


@dataclass(frozen=True)
class LabelledSet:
    """A review's records with its own decisions, and its own criteria as one text."""

    name: str
    records: list[dict[str, Any]]
    criteria: SearchCriteria

    @property
    def label_columns(self) -> list[str]:
        """`label`: finally included; `label_ta`, where it is known: passed title and abstract."""
        return [column for column in ("label", "label_ta") if f"_{column}" in self.records[0]]


def labelled_sets() -> list[LabelledSet]:
    return [_read(SCREENING / name) for name in NAMES]


def _read(folder: Path) -> LabelledSet:
    text = json.loads((folder / "criteria.json").read_text("utf-8"))["text"]
    criteria = SearchCriteria(research_question="Which records meet the review's criteria?", inclusion_criteria=[text])
    return LabelledSet(folder.name, read_records(folder / "records.csv"), criteria)
