"""Overrides: human decisions, recorded in addition to the results. A call records all its decisions or none.

Each reviewer may have a decision on an item; `ledger.overrides.standing` selects the decision that counts. People may
decide an item in any state, even while the software processes the item.

In two stages of a review only people decide: the search for reports, and the assessment of full texts. These decisions
are allowed only on items that passed the review's last screening batch. A later exclusion of an item with such a
decision is refused.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias
from uuid import UUID

from sqlalchemy import ARRAY, Connection, Integer, any_, insert, literal, null, select

from tamis_producer.ledger import read_operation
from tamis_producer.ledger.copies import read_copies
from tamis_producer.ledger.overrides import one_at_a_time, read_overrides, read_places, standing_decisions
from tamis_schemas import (
    HumanStage,
    IdempotencyConflict,
    InvalidParameters,
    Operation,
    Override,
    ReviewPlan,
)
from tamis_schemas.answers.override import UNSURE
from tamis_schemas.batches.wire import SHORT_ID
from tamis_schemas.ledger import batches, overrides, reviews
from tamis_schemas.operations import kind_of
from tamis_schemas.records.record_number import indexed_words, record_words
from tamis_schemas.values.unstorable import UNSTORABLE

from .final_outcome import Outcome, outcomes

STANDS = {Outcome.CONFLICT: "in conflict"}  # where the outcome's name does not describe the record
MOST_NAMED = 5  # records in an error message


def unpassed(connection: Connection, batch_id: UUID, places: Collection[int] | None = None) -> Sequence[Any]:
    """Return the records that did not pass the screening although people decided on their reports, in batch order.

    The rows have `idx` (the record's index), `outcome` and `item_id`. `places`: the indexes to check; None: all.
    """
    view = standing_decisions.c
    decided = select(view.idx).distinct().where(view.batch_id == batch_id, view.stage != HumanStage.OWN.value)
    if places is not None:
        decided = decided.where(view.idx == any_(_array(places)))
    there = connection.execute(decided).scalars().all()
    if not there:
        return []
    final = outcomes(batch_id).subquery("each")
    statement = (
        select(final.c.idx, final.c.outcome, final.c.item_id)
        .where(final.c.idx == any_(_array(there)), final.c.outcome != Outcome.PASSED.value)
        .order_by(final.c.idx)
    )
    return connection.execute(statement).all()


def unpassed_words(others: Sequence[Any]) -> str:
    """Return an error message about decisions on the reports of records that did not pass the screening.

    `others`: rows of these records with `idx`, `item_id` and `outcome`.
    """
    named = [
        f"{record_words(row.idx, row.item_id)}, which is {STANDS.get(row.outcome, row.outcome)}"
        for row in others[:MOST_NAMED]
    ]
    if len(others) > MOST_NAMED:
        named.append(f"{len(others) - MOST_NAMED:,} more")
    return (
        f"not passed by the screening: {'; '.join(named)}. Only records that passed need a report: include the "
        "record first (if people disagree, with --settle), or withdraw the decision on its report"
    )


def check_screens_last(connection: Connection, batch_id: UUID) -> None:
    """Raise `InvalidParameters` if a batch is not the last screening batch of its review.

    The message names the batch of the last screening.
    """
    row = connection.execute(
        select(batches.c.operation, batches.c.review_id, batches.c.stage, reviews.c.plan)
        .outerjoin(reviews, reviews.c.id == batches.c.review_id)
        .where(batches.c.id == batch_id)
    ).one()
    stages = () if row.plan is None else ReviewPlan.model_validate(row.plan).stages
    last = max((place for place, stage in enumerate(stages) if kind_of(stage.name).decides()), default=None)
    if not kind_of(row.operation).decides():
        raise InvalidParameters(
            f"batch {batch_id} has the operation {row.operation}: only records that passed a screening need a report"
            + ("" if last is None else f". {_where(connection, row.review_id, last)}")
        )
    if last is not None and last != row.stage:
        raise InvalidParameters(
            f"batch {batch_id} is not the last screening of its review. {_where(connection, row.review_id, last)}"
        )


def _where(connection: Connection, review_id: UUID, stage: int) -> str:
    of_stage = select(batches.c.id).where(batches.c.review_id == review_id, batches.c.stage == stage)
    batch = connection.execute(of_stage).scalar_one_or_none()
    which = ", which has not begun" if batch is None else f": batch {str(batch)[:SHORT_ID]}"
    return f"Decide on reports in its stage {stage + 1}{which}"


def _array(places: Collection[int]) -> Any:
    return literal([*places], ARRAY(Integer))


LONGEST_NOTE = 10_000  # characters
LONGEST_NAME = 200
LONGEST_REASON = 2_000
WITHDRAWN = null()  # SQL's null; the decision "not present" is the null of JSON


@dataclass(frozen=True)
class HumanDecision:
    """A human's decision on an item."""

    index: int  # index in the batch, from 0
    value: Any  # a possible value of the operation, or of the stage
    reviewer: str
    note: str | None = None
    withdraw: bool = False  # withdraw the reviewer's own decision; ignores `value`
    stage: HumanStage = HumanStage.OWN
    reason: str | None = None  # reason for the exclusion, or for not retrieving the report
    settles: bool = False  # the decision overrides other people's decisions
    unsure: bool = False  # the reviewer read the record but left the decision to others; ignores `value`
    decision_id: UUID | None = None  # chosen by the caller; a repeated id is the same decision
    in_order: bool = False  # the reviewer took the record from the reading order


class RefusedDecision(InvalidParameters):
    """An invalid decision. No decision of the call was written. `number`: the invalid decision's index, from 0."""

    def __init__(self, number: int, message: str) -> None:
        self.number = number
        super().__init__(message)


@dataclass(frozen=True)
class Written:
    """The result of recording decisions."""

    overrides: tuple[Override, ...]  # a recorded decision for each decision of the call, in the same order
    new: int  # decisions not recorded before
    changed: int  # of `new`: replacing another value of the same reviewer


def record(connection: Connection, batch_id: UUID, decisions: Sequence[HumanDecision]) -> Written:
    """Record decisions, all or none, in the caller's transaction.

    A decision that is already current adds no row. A decision with an already recorded `decision_id` adds no row
    either: the result has the first decision with this id.

    Raises:
        RefusedDecision: an impossible value, an unknown item, a record that a person called a copy, no reviewer,
            two decisions of a reviewer on an item, or a withdrawal without a decision. Also if a record with a
            decision on its report would not pass the screening.
        InvalidParameters: a decision on a report, in a batch that is not its review's last screening.
        IdempotencyConflict: a `decision_id` that belongs to another decision.
    """
    one_at_a_time(connection, batch_id)
    operation = read_operation(connection, batch_id)
    if any(decision.stage is not HumanStage.OWN for decision in decisions):
        check_screens_last(connection, batch_id)
    places = sorted({_place(number, decision.index) for number, decision in enumerate(decisions)})
    there = read_places(connection, batch_id, places)
    before = {_voice(entry): entry for entry in read_overrides(connection, batch_id, places=places)}
    copies = read_copies(connection, batch_id)
    rows: dict[_Voice, dict[str, Any]] = {}
    answers: list[Override | _Voice] = []
    for number, decision in enumerate(decisions):
        record_name = indexed_words(decision.index)
        if decision.index not in there:
            raise RefusedDecision(number, f"the batch has no record {record_name}: `tamis results` lists them")
        try:
            row = _row(operation, decision)
        except InvalidParameters as refused:
            raise RefusedDecision(number, str(refused)) from refused
        if (repeated := _repeated(connection, batch_id, decision, row)) is not None:
            answers.append(repeated)
            continue
        if decision.index in copies and not decision.withdraw:
            raise RefusedDecision(number, f"{record_name}: {copies[decision.index]} Decide on that record")
        voice = (decision.index, decision.stage, row["reviewer"])
        if voice in rows:
            raise RefusedDecision(number, f"two decisions on {record_name}: keep one of them")
        if decision.withdraw and voice not in before:
            raise RefusedDecision(number, _not_yours(voice, before.values()))
        rows[voice] = row
        answers.append(voice)
    new = [voice for voice, row in rows.items() if not _same(before.get(voice), row)]
    if new:
        added = [
            {"batch_id": batch_id, "idx": index, "stage": stage.value, **rows[index, stage, reviewer]}
            for index, stage, reviewer in new
        ]
        connection.execute(insert(overrides), added)
        if others := unpassed(connection, batch_id, places):
            number = next(number for number, decision in enumerate(decisions) if decision.index == others[0].idx)
            raise RefusedDecision(number, unpassed_words(others))
    changed = sorted({index for index, _, _ in new})
    last = {_voice(entry): entry for entry in read_overrides(connection, batch_id, history=True, places=changed)}
    return Written(
        overrides=tuple(of if isinstance(of, Override) else last.get(of) or before[of] for of in answers),
        new=len(new),
        changed=sum(voice in before and before[voice].value != last[voice].value for voice in new),
    )


def checked_words(reviewer: str, note: str | None) -> tuple[str, str | None]:
    """Return reviewer and note as stored. Raise `InvalidParameters` if the name is missing or a text is too long."""
    name = checked_text("reviewer", reviewer, LONGEST_NAME)
    if name is None:
        raise InvalidParameters("who decided? Say --reviewer NAME, or set TAMIS_REVIEWER")
    return name, checked_text("note", note, LONGEST_NOTE)


def checked_text(field: str, text: str | None, most: int) -> str | None:
    """Return a text as stored, or None if the text is empty. Raise `InvalidParameters` if storing is impossible."""
    kept = (text or "").strip() or None
    if kept is not None and len(kept) > most:
        raise InvalidParameters(f"the {field} has {len(kept):,} characters; the maximum is {most:,}")
    if kept is not None and UNSTORABLE.search(kept):
        raise InvalidParameters(f"the {field} contains a character that the ledger cannot store")
    return kept


_Voice: TypeAlias = tuple[int, HumanStage, str]  # record index, stage, reviewer


def _voice(decision: Override) -> _Voice:
    return decision.index, decision.stage, decision.reviewer


def _place(number: int, index: object) -> int:
    if isinstance(index, bool) or not isinstance(index, int) or not 0 <= index < 2**31:
        raise RefusedDecision(
            number, f"{index!r} is not an index: the first item of a batch has 0, as in `tamis results`"
        )
    return index


def _row(operation: Operation, decision: HumanDecision) -> dict[str, Any]:
    """Return the database row of a decision, without batch, record index and stage."""
    reviewer, note = checked_words(decision.reviewer, decision.note)
    row = {"reviewer": reviewer, "note": note, "decision_id": decision.decision_id}
    if decision.withdraw:
        return {**row, "value": WITHDRAWN, "reason": None, "settles": False, "in_order": False}
    reason = checked_text("reason", decision.reason, LONGEST_REASON)
    value = checked_value(operation, decision)
    return {**row, "value": value, "reason": reason, "settles": decision.settles, "in_order": decision.in_order}


def _repeated(connection: Connection, batch_id: UUID, decision: HumanDecision, row: dict[str, Any]) -> Override | None:
    """Return the recorded decision with the `decision_id` of `decision`, or None if there is none.

    Raises `IdempotencyConflict` if the two decisions differ.
    """
    if decision.decision_id is None:
        return None
    same_id = (overrides.c.batch_id == batch_id) & (overrides.c.decision_id == decision.decision_id)
    written = connection.execute(select(overrides.c.id).where(same_id)).scalar()
    if written is None:
        return None
    (earlier,) = read_overrides(connection, batch_id, history=True, row=written)
    if (earlier.index, earlier.stage) != (decision.index, decision.stage) or not _says(earlier, row):
        raise IdempotencyConflict(
            f"the decision {decision.decision_id} exists with other content, on {indexed_words(earlier.index)}: "
            "a new decision needs a new id"
        )
    return earlier


def checked_value(operation: Operation, decision: HumanDecision) -> Any:
    """Return a decision's value as stored. Raise `InvalidParameters` if the stage does not allow this value."""
    value = UNSURE if decision.unsure else decision.value
    if decision.stage is not HumanStage.OWN:
        allowed = decision.stage.values
        if value not in allowed:
            raise InvalidParameters(
                f"{value!r} is not a decision of the stage {decision.stage}: choose {' or '.join(allowed)}"
            )
        return value
    if not decision.unsure and (operation.unsure is None or value != operation.unsure):
        return operation.checked_value(value)
    if operation.unsure is None:
        raise InvalidParameters(
            f"{UNSURE!r} is not a decision on a {operation.report_noun}: choose "
            f"{operation.includes} or {operation.excludes}"
        )
    return operation.unsure


def _same(before: Override | None, row: dict[str, Any]) -> bool:
    """Return whether a decision is already current, so that it needs no row.

    A decision with an id always needs a row, so that its repetition is recognised.
    """
    may_stand = row["value"] is not WITHDRAWN and row["decision_id"] is None
    return before is not None and may_stand and _says(before, row)


_UNSAID = {"decision_id", "in_order"}  # columns of a row that are not part of the decision


def _says(decision: Override, row: dict[str, Any]) -> bool:
    withdrawn = row["value"] is WITHDRAWN
    said = {**row, "value": None} if withdrawn else row
    return decision.withdrawn is withdrawn and all(
        getattr(decision, name) == value for name, value in said.items() if name not in _UNSAID
    )


def _not_yours(voice: _Voice, before: Iterable[Override]) -> str:
    index, stage, reviewer = voice
    others = [decision.reviewer for decision in before if (decision.index, decision.stage) == (index, stage)]
    if not others:
        return f"{indexed_words(index)}: there is no human decision to withdraw"
    return (
        f"{indexed_words(index)}: {reviewer} has no decision there to withdraw. Only {' and '.join(others)} can "
        "withdraw their own decision. A decision with --settle counts over theirs"
    )
