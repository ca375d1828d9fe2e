"""Tier one of a screening over whole files: what the initial filter does with each record, and what that costs.

Labels, where a file has them, tell which records the review included in the end; so they tell which rejections are
losses.
"""

import csv
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from tamis_producer.files.decode import MAX_FILE_BYTES
from tamis_producer.results.formula_guard import guarded
from tamis_schemas import SearchCriteria, resolve_item_id
from tamis_schemas.answers.filter_result import FilterResult

from ..intake.labels import included_by, label_column
from ..intake.notes import Note
from ..intake.sourced_records import SourcedRecord, read_sources
from . import InitialFilter

COLUMNS = (
    "file",
    "index",
    "id",
    "outcome",
    "rule",
    "reason",
    "confidence",
    "field",
    "matched",
    "start",
    "end",
    "title",
)


@dataclass(frozen=True)
class FilteredRecord(SourcedRecord):
    """One record, and what the filter did with it."""

    result: FilterResult
    included: bool | None  # what the label says; None without one

    @property
    def item_id(self) -> str:
        return resolve_item_id(self.record)

    @property
    def title(self) -> str:
        return str(self.record.get("title") or "")


@dataclass(frozen=True)
class RuleCount:
    """The number of records that one rule rejects."""

    rule: str
    records: int
    included: int  # by their label
    excluded: int


@dataclass(frozen=True)
class FilterReport:
    """Every record of some files under one review's criteria, in the files' order."""

    outcomes: list[FilteredRecord]
    switched_off: Mapping[str, str]  # rule -> why it does not apply
    notes: Mapping[Path, tuple[Note, ...]] = field(default_factory=dict)  # file -> what became no record

    @property
    def passed(self) -> int:
        return sum(outcome.result.passed for outcome in self.outcomes)

    def labelled(self, *, included: bool) -> int:
        """Return the number of records with this label."""
        return sum(outcome.included is included for outcome in self.outcomes)

    @property
    def lost(self) -> list[FilteredRecord]:
        """The included records that a rule rejects."""
        return [outcome for outcome in self.outcomes if outcome.included and not outcome.result.passed]

    @property
    def rules(self) -> list[RuleCount]:
        """The rules that reject anything, the one that rejects most first."""
        rejected = [(str(one.result.rule), one.included) for one in self.outcomes if not one.result.passed]
        total = Counter(rule for rule, _ in rejected)
        by_label = Counter(rejected)
        counts = [RuleCount(rule, n, by_label[rule, True], by_label[rule, False]) for rule, n in total.items()]
        return sorted(counts, key=lambda count: (-count.records, count.rule))


def filter_files(
    paths: Iterable[Path],
    criteria: SearchCriteria,
    *,
    label: str | None = None,
    max_bytes: int = MAX_FILE_BYTES,
    strict: bool = False,
) -> FilterReport:
    """The initial filter over every record of the files; `label` names a column that says 1 or 0.

    A file of more than `max_bytes` is not read; where reading is `strict`, a record that cannot be read is an error.

    Raises:
        InputError: a file cannot be read, has no such column, or has something else in it; naming file and line.
        InvalidParameters: a keyword of the criteria cannot be looked for.
    """
    initial_filter = InitialFilter(criteria)
    outcomes: list[FilteredRecord] = []
    notes: dict[Path, tuple[Note, ...]] = {}
    for source in read_sources(list(paths), max_bytes=max_bytes, strict=strict):
        notes |= {file.path: file.intake.notes for file in source.files}
        columns = {
            file.path: None if label is None else label_column(label, file.intake.records, file.path)
            for file in source.files
            if not file.completes
        }
        for one in source.sourced:
            column = columns.get(one.path)
            included = None if column is None else included_by(one.record, column, one.path)
            result = initial_filter.filter_paper(one.record)
            outcomes.append(FilteredRecord(one.record, one.path, one.index, result, included))
    return FilterReport(outcomes, initial_filter.switched_off, notes)


def write_outcomes(tier_one: FilterReport, stream: TextIO) -> int:
    """One CSV row a record under `COLUMNS`, and `label` where there are labels; how many."""
    labelled = any(outcome.included is not None for outcome in tier_one.outcomes)
    writer = csv.writer(stream)
    writer.writerow((*COLUMNS, "label") if labelled else COLUMNS)
    for outcome in tier_one.outcomes:
        cells = _cells(outcome)
        if labelled:
            cells.append(None if outcome.included is None else int(outcome.included))
        writer.writerow([guarded(cell) if isinstance(cell, str) else cell for cell in cells])
    return len(tier_one.outcomes)


def _cells(outcome: FilteredRecord) -> list[object]:
    """Return the cells under `COLUMNS`; None is an empty one."""
    result = outcome.result
    outcome_word, confidence = ("passed", None) if result.passed else ("rejected", result.confidence)
    decided = (outcome_word, result.rule, result.reason, confidence)
    place = (result.field, result.matched, result.start, result.end)
    return [outcome.path.name, outcome.index, outcome.item_id, *decided, *place, outcome.title]
