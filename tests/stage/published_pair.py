"""A published review's two readers and its third: what each said of a record, read with plain `csv`."""

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tamis_schemas import SearchCriteria

from .shared_data import DATA

RESPONSES = DATA / "reviews" / "snhl_dimitrov_2024" / "responses"
WORDS = {"1": "include", "2": "exclude"}
# The third reader's, of third_reviewer_responses.md, by the records' numbers there.
THIRD = {
    "16": "exclude",
    "43": "include",
    "59": "include",
    "82": "exclude",
    "159": "exclude",
    "365": "exclude",
}
# As that document has them, shortened.
CRITERIA = SearchCriteria(
    research_question="Which subtypes of sensorineural hearing loss does unsupervised machine learning find?",
    inclusion_criteria=[
        "Unsupervised machine learning with hearing tests as input",
        "Sensorineural hearing loss only",
        "Adults only",
    ],
    exclusion_criteria=["No machine learning", "Recognition of a hearing loss without audiometry", "Reviews"],
)


@dataclass(frozen=True)
class Published:
    """A record, and what the two readers said of it."""

    id: str
    title: str
    abstract: str
    first: str  # include or exclude
    second: str

    @property
    def agreed(self) -> bool:
        return self.first == self.second

    def item(self) -> dict[str, Any]:
        return {"id": self.id, "title": self.title, "abstract": self.abstract}


def published(count: int) -> list[Published]:
    """Every record that one of the two included (20 of them), and of the others as many as make `count`, mixed."""
    every = list(_rows())
    wanted = [one for one in every if "include" in (one.first, one.second)]
    others = [one for one in every if (one.first, one.second) == ("exclude", "exclude")]
    assert 20 == len(wanted) < count
    return sorted([*wanted, *others[: count - len(wanted)]], key=lambda one: int(one.id))


def _rows() -> Iterator[Published]:
    with (RESPONSES / "LB_response_complete.csv").open(encoding="utf-8-sig", newline="") as stream:
        first = list(csv.DictReader(stream))
    with (RESPONSES / "LD_response_complete.csv").open(encoding="utf-8-sig", newline="") as stream:
        second = {row["ID"]: row["response"] for row in csv.DictReader(stream)}
    for row in first:
        yield Published(row["ID"], row["title"], row["abstract"], WORDS[row["response"]], WORDS[second[row["ID"]]])
