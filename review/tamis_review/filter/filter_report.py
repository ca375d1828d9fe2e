"""The initial filter (tier 1) applied to whole files: its result for each record, and the includes that it loses.

Labels in the files show which records a review finally included.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO, Unpack

from tamis_producer.results.formula_guard import GuardedTable
from tamis_schemas import SearchCriteria, resolve_item_id
from tamis_schemas.answers.filter_result import FilterResult

from ..intake.labels import included_by, label_column
from ..intake.notes import Note
from ..intake.reading import ReadingOptions
from ..intake.sourced_records import SourcedRecord, read_sources
from . import InitialFilter

_EVIDENCE = ("field", "matched", "start", "end")  # of the result
COLUMNS = ("file", "index", "id", "outcome", "rule", "reason", "confidence", *_EVIDENCE, "title")


@dataclass(frozen=True)
class FilteredRecord(SourcedRecord):
    """One record with the filter's result and a label."""

    result: FilterResult
    included: bool | None  # the label; None: no label

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
    included: int  # rejected records whose label says that they were included
    excluded: int


@dataclass(frozen=True)
class FilterReport:
    """The filter's results for all records of some files, in the files' order."""

    outcomes: list[FilteredRecord]
    switched_off: Mapping[str, str]  # rule -> reason why it does not apply
    notes: Mapping[Path, tuple[Note, ...]] = field(default_factory=dict)  # file -> texts that became no record

    @property
    def passed(self) -> int:
        return sum(outcome.result.passed for outcome in self.outcomes)

    def labelled(self, *, included: bool) -> int:
        """Return the number of records that are labelled as included, or as excluded."""
        return sum(outcome.included is included for outcome in self.outcomes)

    @property
    def lost(self) -> list[FilteredRecord]:
        """Return the records that a rule rejects although they are labelled as included."""
        return [outcome for outcome in self.outcomes if outcome.included and not outcome.result.passed]

    @property
    def rules(self) -> list[RuleCount]:
        """Return the counts of each rule that rejected a record, the most frequent rule first."""
        rejected = [(str(record.result.rule), record.included) for record in self.outcomes if not record.result.passed]
        total = Counter(rule for rule, _ in rejected)
        by_label = Counter(rejected)
        counts = [RuleCount(rule, n, by_label[rule, True], by_label[rule, False]) for rule, n in total.items()]
        return sorted(counts, key=lambda count: (-count.records, count.rule))


def filter_files(
    paths: Iterable[Path], criteria: SearchCriteria, *, label: str | None = None, **reading: Unpack[ReadingOptions]
) -> FilterReport:
    """Return the initial filter's results for every record of the files.

    `label`: the name of a column with 1 (included) or 0 (excluded). `reading`: options of `read_file`.

    Raises:
        InputError: a file cannot be read, or lacks the column, or a label is invalid.
        InvalidParameters: a keyword of the criteria is invalid.
    """
    initial_filter = InitialFilter(criteria)
    outcomes: list[FilteredRecord] = []
    notes: dict[Path, tuple[Note, ...]] = {}
    for source in read_sources(list(paths), **reading):
        notes |= {file.path: file.intake.notes for file in source.files}
        columns = {
            file.path: None if label is None else label_column(label, file.intake.records, file.path)
            for file in source.files
            if not file.completes
        }
        for entry in source.sourced:
            column = columns.get(entry.path)
            included = None if column is None else included_by(entry.record, column, entry.path)
            result = initial_filter.filter_paper(entry.record)
            outcomes.append(FilteredRecord(entry.record, entry.path, entry.index, result, included))
    return FilterReport(outcomes, initial_filter.switched_off, notes)


def write_outcomes(tier_one: FilterReport, stream: TextIO) -> int:
    """Write a CSV row for each record, and return the number of rows.

    The columns are `COLUMNS`, and `label` if a record has a label.
    """
    labelled = any(outcome.included is not None for outcome in tier_one.outcomes)
    table = GuardedTable(stream)
    table.write((*COLUMNS, "label") if labelled else COLUMNS)
    for outcome in tier_one.outcomes:
        label = [None if outcome.included is None else int(outcome.included)] * labelled
        table.write([*_cells(outcome), *label])
    return len(tier_one.outcomes)


def _cells(outcome: FilteredRecord) -> list[object]:
    """Return the cells under `COLUMNS`; None is an empty cell."""
    result = outcome.result
    outcome_word, confidence = ("passed", None) if result.passed else ("rejected", result.confidence)
    decided = (outcome_word, result.rule, result.reason, confidence)
    evidence = [getattr(result, name) for name in _EVIDENCE]
    return [outcome.path.name, outcome.index, outcome.item_id, *decided, *evidence, outcome.title]
