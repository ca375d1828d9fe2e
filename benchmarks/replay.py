"""A published review, from the exports of its searches to its PRISMA figure, with the decisions of its own people.

    python -m benchmarks.replay [--short] [-o FOLDER]

Everything goes through the commands of `tamis`: a plan with the eight sources and the reference lists is screened, with
the LLM double as one more reader; the decisions of two people are imported, a third person's on their conflicts, and
those on the full texts. FOLDER gets the figure (SVG and PNG), the report, and a table of the review's numbers beside
Tamis'. `--short`: a part of each export. Ends with 1 where a number that has to be the published one is another.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import yaml

from llm_double import Scripted
from tamis_schemas import SearchCriteria

from .replay_inputs import (
    Export,
    FullText,
    decisions,
    exports,
    full_texts,
    kept_places,
    shortened,
)
from .review_rows import Placed

WITHIN = 600.0  # s of one command
# What the double includes; it excludes everything else, so that nothing is included which no person has seen.
INCLUDED_BY_DOUBLE = ("audiometric phenotypes", "audiogram shape", "auditory profiling")
REFERENCE_LISTS = "Reference lists"

Tamis: TypeAlias = Callable[..., str]  # a command's words -> its standard output; raises where it fails


def third_reader(criteria: SearchCriteria) -> list[Scripted]:
    """The double's answers: include where the record has one of some words, else exclude."""

    def answer(status: str, first: str) -> dict[str, Any]:
        verdicts = {
            own.label: {"quote": None, "verdict": "not met" if own.excludes else "met"} for own in criteria.labelled()
        }
        verdicts["I1"] = {"quote": None, "verdict": first}
        return {"rationale": "as scripted", "verdicts": verdicts, "status": status, "confidence": 0.9}

    included = [Scripted(words, answer("include", "met")) for words in INCLUDED_BY_DOUBLE]
    return [*included, Scripted("", answer("exclude", "not met by silence"))]


@dataclass(frozen=True)
class Searches:
    """The sources of a replay, and where each record of them stands in the batch."""

    exports: Sequence[Export]
    places: Mapping[str, Sequence[int]]  # source -> the places of its records in the whole export, in order
    found_otherwise: Sequence[FullText]

    def index_of(self) -> dict[tuple[str, int], int]:
        """Each record's place in the batch, from 0, by source and place in its export."""
        all_places = [(export.source, at) for export in self.exports for at in self.places[export.source]]
        return {own: index for index, own in enumerate(all_places)}


def searches(review: Path, folder: Path, placed: Sequence[Placed], *, short: bool) -> Searches:
    """The nine files as they are; in the short form a part of each, with all that people did not exclude alike."""
    otherwise = [own for own in full_texts(review) if own.row is None]
    counts = {own.source: own.published for own in exports(review)}
    if not short:
        return Searches(exports(review), {source: range(1, count + 1) for source, count in counts.items()}, otherwise)
    one, other = ({own.row: own.says for own in said} for said in decisions(review).values())
    telling = {row for row in one if (one[row], other[row]) != ("exclude", "exclude")}
    wanted = {
        source: {own.record.place for own in placed if own.record.source == source and own.row in telling}
        for source in counts
    }
    return Searches(
        [shortened(export, wanted[export.source], folder) for export in exports(review)],
        {source: kept_places(counts[source], wanted[source]) for source in counts},
        otherwise,
    )


def write_plan(found: Searches, criteria: SearchCriteria, folder: Path) -> Path:
    """The review as a plan: its sources, its criteria as the project writes them, one stage."""
    (folder / "criteria.yaml").write_text(_yaml(criteria.model_dump(mode="json", exclude_defaults=True)), "utf-8")
    lists = folder / "reference-lists.jsonl"
    lists.write_text(
        "".join(
            json.dumps({"title": own.title, "abstract": own.abstract, "authors": [own.authors]}) + "\n"
            for own in found.found_otherwise
        ),
        "utf-8",
    )
    databases = [
        {"name": own.name, "kind": "database", "files": [str(path) for path in own.files]} for own in found.exports
    ]
    other = {"name": REFERENCE_LISTS, "kind": "other", "file": lists.name}
    plan = {
        "title": "A published review",
        "sources": [*databases, other],
        "criteria": "criteria.yaml",
        "stages": ["inclusion"],
    }
    (folder / "plan.yaml").write_text(_yaml(plan), "utf-8")
    return folder / "plan.yaml"


def _yaml(value: object) -> str:
    return str(yaml.safe_dump(value, allow_unicode=True, sort_keys=False))
