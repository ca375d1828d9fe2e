"""The table of decisions as data: its rows, and the words that it needs to show them."""

import json
from collections.abc import Callable, Sequence
from typing import Any

from tamis_schemas import Criterion, Inclusion, ItemResult, Operation

from ..outcome import FILTER, INCLUSION, Outcome
from .record import Row, record_row
from .steps import operation_noun

# In the order in which the table sorts them.
_NAMES = {
    Outcome.PASSED: "evaluated",
    Outcome.UNCERTAIN: "uncertain",
    Outcome.FAILED: "failed",
    Outcome.EXCLUDED: "exclude",
    Outcome.INELIGIBLE: "initial filter",
    Outcome.DUPLICATE: "duplicate",
    Outcome.REMOVED: "removed",
    Outcome.CANCELLED: "cancelled",
    Outcome.OPEN: "not decided yet",
}
_OF_OPERATION = {
    INCLUSION: {Outcome.PASSED: "include"},
    FILTER: {Outcome.PASSED: "yes", Outcome.EXCLUDED: "no"},
}


def outcome_names(operation: str) -> dict[str, str]:
    """What an outcome is called where this operation asked."""
    return {str(outcome): name for outcome, name in (_NAMES | _OF_OPERATION.get(operation, {})).items()}


def table_facts(labelled: Sequence[Criterion], operations: Sequence[str]) -> dict[str, Any]:
    """What the table's script has to know besides the rows: criteria by label, and words for each stage."""
    return {
        "names": outcome_names(operations[0]),
        "criteria": {one.label: {"text": one.text, "excludes": one.excludes} for one in labelled},
        "stages": [{"noun": operation_noun(name), "names": outcome_names(name)} for name in operations],
    }


def table_pieces(operation: Operation) -> tuple[str, Callable[[list[ItemResult], bool], str], str]:
    """One JSON object, `{"operation": ..., "facts": ..., "rows": [...]}`: its beginning, its rows, its end.

    The rows are those of some results, told whether they are the first ones.
    """
    name = operation.operation
    labelled = operation.criteria.labelled() if isinstance(operation, Inclusion) else []
    begins = f'{{"operation":{_json(name)},"facts":{_json(table_facts(labelled, [name]))},"rows":['

    def rows(results: list[ItemResult], first: bool) -> str:
        text = ",\n".join(_json(record_row(name, result)) for result in results)
        return text if first or not text else ",\n" + text

    return begins, rows, "]}"


def _json(value: Row | str) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
