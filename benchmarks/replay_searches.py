"""The searches of a published review as a plan that Tamis runs, and the answers of the LLM double that screens them."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from llm_double import Scripted
from tamis_schemas import SearchCriteria

from .replay_inputs import Decision, Export, FullText, decisions, exports, full_texts, kept_places, shortened
from .review_rows import Placed

REFERENCE_LISTS = "Reference lists"
# The double includes what has one of these words, and nothing else: no record that people have not seen has one.
INCLUDED_BY_DOUBLE = ("audiometric phenotypes", "audiogram shape", "auditory profiling")


@dataclass(frozen=True)
class Searches:
    """The exports of a replay, and the review's records in them."""

    exports: Sequence[Export]
    places: Mapping[str, Sequence[int]]  # source -> the places of its records in the whole export, in order
    found_otherwise: Sequence[FullText]  # reports from lists of references
    rows: frozenset[str]  # rows of the review with a record in the exports

    def index_of(self) -> dict[tuple[str, int], int]:
        """Return each record's place in the batch, from 0, by its source and its place in the whole export."""
        every = [(export.source, at) for export in self.exports for at in self.places[export.source]]
        return {own: index for index, own in enumerate(every)}

    def kept(self, decided: Mapping[str, Sequence[Decision]]) -> dict[str, list[Decision]]:
        """Return the decisions about rows with a record in these exports."""
        return {person: [one for one in own if one.row in self.rows] for person, own in decided.items()}


def searches(review: Path, folder: Path, placed: Sequence[Placed], *, short: bool) -> Searches:
    """Return the exports as they are. If `short`, return a part of each, with all records that a person included."""
    own = exports(review)
    counts = {export.source: export.published for export in own}
    if short:
        one, other = ({said.row: said.says for said in table} for table in decisions(review).values())
        telling = {row for row in one if (one[row], other[row]) != ("exclude", "exclude")}
        wanted = {
            source: {at.record.place for at in placed if at.record.source == source and at.row in telling}
            for source in counts
        }
        own = [shortened(export, wanted[export.source], folder) for export in own]
        places: dict[str, Sequence[int]] = {source: kept_places(counts[source], wanted[source]) for source in counts}
    else:
        places = {source: range(1, count + 1) for source, count in counts.items()}
    rows = frozenset(at.row for at in placed if at.row is not None and at.record.place in places[at.record.source])
    return Searches(own, places, [one for one in full_texts(review) if one.row is None], rows)


def write_plan(found: Searches, criteria: SearchCriteria, folder: Path) -> Path:
    """Write the review as a plan with its sources, its criteria and one stage, and return the plan's path."""
    (folder / "criteria.yaml").write_text(_yaml(criteria.model_dump(mode="json", exclude_defaults=True)), "utf-8")
    lists = folder / "reference-lists.jsonl"
    records = [
        {"title": one.title, "abstract": one.abstract, "authors": [one.authors]} for one in found.found_otherwise
    ]
    lists.write_text("".join(json.dumps(record) + "\n" for record in records), "utf-8")
    databases: list[dict[str, Any]] = [
        {"name": export.name, "kind": "database", "files": [str(path) for path in export.files]}
        for export in found.exports
    ]
    plan = {
        "title": "A published review, replayed",
        "sources": [*databases, {"name": REFERENCE_LISTS, "kind": "other", "file": lists.name}],
        "criteria": "criteria.yaml",
        "stages": ["inclusion"],
    }
    path = folder / "plan.yaml"
    path.write_text(_yaml(plan), "utf-8")
    return path


def third_reader(criteria: SearchCriteria) -> list[Scripted]:
    """Return the answers of the LLM double for these criteria."""

    def answer(status: str, first: str) -> dict[str, Any]:
        verdicts = {
            one.label: {"quote": None, "verdict": "not met" if one.excludes else "met"} for one in criteria.labelled()
        }
        verdicts["I1"] = {"quote": None, "verdict": first}
        return {"rationale": "as scripted", "verdicts": verdicts, "status": status, "confidence": 0.9}

    included = [Scripted(words, answer("include", "met")) for words in INCLUDED_BY_DOUBLE]
    return [*included, Scripted("", answer("exclude", "not met by silence"))]


def _yaml(value: object) -> str:
    return str(yaml.safe_dump(value, allow_unicode=True, sort_keys=False))
