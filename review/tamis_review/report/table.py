"""The table of decisions as data: its rows, and the words that it needs to show them."""

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import Engine, select

from tamis_producer.ledger import ledger_errors, read_operation
from tamis_schemas import Criterion, Inclusion, ItemResult
from tamis_schemas.ledger import batches
from tamis_schemas.operations import kind_of

from ..decisions.final_outcome import Outcome
from .record import Row, blind_row, record_row

MOST_ROWS = 20_000  # of a table that holds all of a batch: a browser keeps some 2 kB of each, and searches them all

# In the order in which the table sorts them.
_NAMES = {
    Outcome.PASSED: "evaluated",
    Outcome.UNCERTAIN: "uncertain",
    Outcome.CONFLICT: "conflict",
    Outcome.FAILED: "failed",
    Outcome.EXCLUDED: "exclude",
    Outcome.INELIGIBLE: "initial filter",
    Outcome.DUPLICATE: "duplicate",
    Outcome.REMOVED: "removed",
    Outcome.CANCELLED: "cancelled",
    Outcome.OPEN: "not decided yet",
}


def outcome_names(operation: str) -> dict[str, str]:
    """Return the names of the outcomes for this operation."""
    kind = kind_of(operation)
    own = {Outcome.PASSED: _word(kind.includes), Outcome.EXCLUDED: _word(kind.excludes)} if kind.decides() else {}
    return {str(outcome): name for outcome, name in (_NAMES | own).items()}


def _word(value: str | bool | None) -> str:
    return value if isinstance(value, str) else "yes" if value else "no"


def table_facts(labelled: Sequence[Criterion], operations: Sequence[str]) -> dict[str, Any]:
    """Return what the table's script needs besides the rows: criteria by label, and words for each stage."""
    return {
        "names": outcome_names(operations[0]),
        "criteria": {one.label: {"text": one.text, "excludes": one.excludes} for one in labelled},
        "stages": [{"noun": kind_of(name).report_noun, "names": outcome_names(name)} for name in operations],
    }


@dataclass(frozen=True)
class DecisionTable:
    """One JSON object, `{"operation": ..., "facts": ..., "left_out": 0, "rows": [...]}`, in its parts."""

    begins: str
    operation: str
    left_out: bool  # it has no rows
    ends: str = "]}"
    hidden: Collection[int] = frozenset()  # places of records whose decisions are not shown

    def rows(self, results: list[ItemResult], first: bool) -> str:
        """The rows of some results, which are the first ones or not."""
        text = ",\n".join(_json(self._row(result)) for result in results)
        return text if first or not text else ",\n" + text

    def _row(self, result: ItemResult) -> Row:
        if result.index in self.hidden:
            return blind_row(result) | {"outcome": Outcome.OPEN, "hidden": True}
        return record_row(self.operation, result)


def read_table(engine: Engine, batch_id: UUID, *, whole: bool) -> DecisionTable:
    """The table of a batch, whose rows are still to be read.

    Of the `whole` of a batch of more than `MOST_ROWS` there are none, and `left_out` says how many there would be.
    Raises `LedgerUnavailable`.
    """
    with ledger_errors(), engine.connect() as connection:
        operation = read_operation(connection, batch_id)
        count = connection.execute(select(batches.c.n_items).where(batches.c.id == batch_id)).scalar_one()
    labelled = operation.criteria.labelled() if isinstance(operation, Inclusion) else []
    name, facts = operation.operation, table_facts(labelled, [operation.operation])
    left_out = count if whole and count > MOST_ROWS else 0
    begins = f'{{"operation":{_json(name)},"facts":{_json(facts)},"left_out":{left_out},"rows":['
    return DecisionTable(begins, name, bool(left_out))


def _json(value: Row | str) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
