"""Overrides: human decisions written beside the results, all of a call or none of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import ARRAY, Connection, Integer, Row, any_, insert, literal, null, select

from tamis_schemas import InvalidParameters, InvalidRequest, ItemStatus, Operation, Override
from tamis_schemas.ledger import items, overrides
from tamis_schemas.values.unstorable import UNSTORABLE

from ..ledger import read_operation
from ..ledger.overrides import one_at_a_time, read_overrides

LONGEST_NOTE = 10_000  # characters
LONGEST_NAME = 200
_FIELDS = frozenset({"value", "note", "reviewer"})


@dataclass(frozen=True)
class HumanDecision:
    """A human's decision on one item."""

    index: int  # place in the batch, from 0
    value: Any
    reviewer: str
    note: str | None = None
    withdraw: bool = False  # take back what stands; `value` is not looked at then


class RefusedDecision(InvalidParameters):
    """One of several decisions cannot be kept, and so none was; `number` is its place among them, from 0."""

    def __init__(self, number: int, message: str) -> None:
        self.number = number
        super().__init__(message)


def record(connection: Connection, batch_id: UUID, decisions: Sequence[HumanDecision]) -> list[Override]:
    """Record decisions, all or none; return the standing override of each of these items, in the order given.

    Runs in the caller's transaction. A decision that stands already, of the same reviewer with the same note, adds no
    second row.

    Raises `RefusedDecision`: a value that the operation could not have given, an item that is not there or has not
    ended yet, nothing to withdraw, no reviewer, or two decisions on one item.
    """
    one_at_a_time(connection, batch_id)
    operation = read_operation(connection, batch_id)
    places = sorted({_place(number, decision.index) for number, decision in enumerate(decisions)})
    item_at = {row.idx: row for row in _items(connection, batch_id, places)}
    before = {one.index: one for one in read_overrides(connection, batch_id)}
    rows: list[dict[str, Any]] = []
    seen: dict[int, int] = {}
    for number, decision in enumerate(decisions):
        try:
            if decision.index in seen:
                raise InvalidParameters(f"a second decision on item {decision.index}: say one of them")
            seen[decision.index] = number
            row = _row(operation, decision, item_at.get(decision.index), before.get(decision.index))
        except InvalidRequest as refused:
            raise RefusedDecision(number, str(refused)) from refused
        if row is not None:
            rows.append({"batch_id": batch_id, "idx": decision.index, **row})
    if rows:
        connection.execute(insert(overrides), rows)
    history = {one.index: one for one in read_overrides(connection, batch_id, history=True)}  # the last one of each
    return [history[decision.index] for decision in decisions]


def checked_words(reviewer: str, note: str | None) -> tuple[str, str | None]:
    """Reviewer and note as they are kept. Raises `InvalidParameters` where nobody is named or a text is too long."""
    name, kept_note = reviewer.strip(), (note or "").strip() or None
    if not name:
        raise InvalidParameters("who decided? name a reviewer: --reviewer NAME, or TAMIS_REVIEWER")
    for field, text, most in (("reviewer", name, LONGEST_NAME), ("note", kept_note or "", LONGEST_NOTE)):
        if len(text) > most:
            raise InvalidParameters(f"the {field} has {len(text):,} characters; {most:,} are kept")
        if UNSTORABLE.search(text):
            raise InvalidParameters(f"the {field} holds a character that the ledger cannot store")
    return name, kept_note


def _items(connection: Connection, batch_id: UUID, places: list[int]) -> Sequence[Any]:
    statement = select(items.c.idx, items.c.item_id, items.c.state).where(
        items.c.batch_id == batch_id, items.c.idx == any_(literal(places, ARRAY(Integer)))
    )
    return connection.execute(statement).all()


def _place(number: int, index: object) -> int:
    if isinstance(index, bool) or not isinstance(index, int) or not 0 <= index < 2**31:
        raise RefusedDecision(number, f"{index!r} is no index: the first item of a batch has 0, as in `tamis results`")
    return index


def _row(
    operation: Operation, decision: HumanDecision, item: Row[Any] | None, before: Override | None
) -> dict[str, Any] | None:
    """Return the row to write; None where it stands already."""
    if item is None:
        raise InvalidParameters(f"the batch has no item {decision.index}: `tamis results` lists them, from 0")
    reviewer, note = checked_words(decision.reviewer, decision.note)
    if decision.withdraw:
        if before is None:
            raise InvalidParameters(f"item {decision.index}: no human decision stands that could be withdrawn")
        return {"value": null(), "reviewer": reviewer, "note": note}
    value = operation.checked_value(decision.value)
    if not ItemStatus(item.state).terminal:
        raise InvalidParameters(
            f"item {decision.index} is {item.state}: the software has not finished with it; decide when it has, "
            "`tamis status` says so, or cancel the batch first"
        )
    row = {"value": value, "reviewer": reviewer, "note": note}
    if before is not None and before.model_dump(include=set(_FIELDS)) == row:
        return None
    return row
