"""The labelled sets beside the checkout, in `../shared/data`."""

import csv
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tamis_review.intake import read_records
from tamis_schemas import SearchCriteria

DATA = Path(__file__).parents[2] / "shared" / "data"
SCREENING = DATA / "screening"
NAMES = ("synergy_Donners_2021", "cdss_ro", "ptsd_van_de_schoot_2017")


@dataclass(frozen=True)
class LabelledSet:
    """A review's records with the decisions of its people, and the criteria for the filter."""

    name: str
    records: list[dict[str, Any]]
    criteria: SearchCriteria

    @property
    def label_columns(self) -> list[str]:
        """The labels of the records. `label`: finally included. `label_ta`, if known: passed title and abstract."""
        return [column for column in ("label", "label_ta") if f"_{column}" in self.records[0]]


def labelled_sets() -> list[LabelledSet]:
    """Return the three sets in the folder `screening`, each with its criteria as one text."""
    return [_read(SCREENING / name) for name in NAMES]


def _read(folder: Path) -> LabelledSet:
    text = json.loads((folder / "criteria.json").read_text("utf-8"))["text"]
    criteria = SearchCriteria(research_question="Which records meet the review's criteria?", inclusion_criteria=[text])
    return LabelledSet(folder.name, read_records(folder / "records.csv"), criteria)


def hearing_review() -> LabelledSet:
    """Return the records of `reviews/snhl_dimitrov_2024`, with its published criteria.

    `label`: included after the full text. `label_ta`: at least one of two people included the record by title and
    abstract.
    """
    folder = DATA / "reviews" / "snhl_dimitrov_2024"
    published = (folder / "third_reviewer_responses.md").read_text("utf-8")
    included, excluded = (
        [line.strip(" -") for line in part.splitlines() if line.strip(" -")]
        for part in published.partition("### Inclusion:")[2].partition("## R3")[0].split("### Exclusion:")
    )
    criteria = SearchCriteria(
        research_question="Which records meet the review's criteria?",
        inclusion_criteria=included,
        exclusion_criteria=excluded,
    )
    first, second = (_rows(folder / "responses" / f"{who}_response_complete.csv") for who in ("LB", "LD"))
    said = {row["ID"]: row["response"] for row in second}
    final = {
        row["title"] for row in _rows(folder / "responses" / "full_text_reviews.csv") if row["final_decision"] == "1"
    }
    records: list[dict[str, Any]] = [
        {
            "id": row["ID"],
            "title": row["title"],
            "abstract": row["abstract"],
            "_label": "1" if row["title"] in final else "0",
            "_label_ta": "1" if "1" in (row["response"], said[row["ID"]]) else "0",
        }
        for row in first
    ]
    return LabelledSet(folder.name, records, criteria)


def animal_review() -> LabelledSet:
    """Return the records of `recorded/kwok_2020_gpt4omini`. The criteria are ours, as the data lack the review's."""
    folder = DATA / "recorded" / "kwok_2020_gpt4omini"
    criteria = SearchCriteria(
        research_question="Which viruses does metagenomics find in farm animals?",
        inclusion_criteria=["Viruses of farm animals"],
    )
    records: list[dict[str, Any]] = [
        {"id": row["id"], "title": row["title"], "abstract": row["abstract"], "_label": row["label"]}
        for row in _rows(folder / "records.csv")
    ]
    return LabelledSet(folder.name, records, criteria)


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8-sig", newline="") as stream:
        return list(csv.DictReader(stream))
