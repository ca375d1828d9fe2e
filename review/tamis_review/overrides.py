"""What people decide about the records of a batch, beside the model and never over it."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from tamis_producer import ledger
from tamis_producer.client.batch import Batch
from tamis_producer.ledger import HumanCounts
from tamis_schemas import HumanStage, Override

from .decisions import conflicts, record_overrides
from .decisions.conflicts import Conflict
from .decisions.record_overrides import HumanDecision


def override(
    batch: Batch,
    index: int,
    value: Any,
    *,
    reviewer: str,
    note: str | None = None,
    settles: bool = False,
    stage: HumanStage = HumanStage.OWN,
    reason: str | None = None,
    decision_id: UUID | None = None,
) -> Override:
    """Decide about one item; return what the reviewer has said of it now.

    It replaces the same reviewer's earlier decision and leaves those of others. Where people disagree and no decision
    settles it, none of them counts.

    Args:
        batch: the batch.
        index: the item's place in the batch, from 0.
        value: what the operation would have given: `include`, `exclude` or `uncertain` (looked at, and left to
            others), True or False, a number of the scale, an extracted text (None: the record does not hold it), an
            object of fields. The other stages have values of their own: `retrieved` or `not retrieved`; `include`,
            `exclude` or `uncertain`.
        reviewer: who decides.
        note: why.
        settles: this decision counts, whatever others say.
        stage: what is decided about: what the batch asks, whether the report could be had, its full text.
        reason: why it is excluded, or why a report could not be had.
        decision_id: the caller's own: the same id again gives the same decision, and writes nothing.

    Raises:
        IdempotencyConflict: this id was another decision's.
        InvalidParameters: a value that the operation could not have given, an item that is not there, or no reviewer.
        LedgerUnavailable: the ledger does not answer.
    """
    decision = HumanDecision(
        index, value, reviewer, note, stage=stage, reason=reason, settles=settles, decision_id=decision_id
    )
    return decide(batch, [decision])[0]


def withdraw_override(
    batch: Batch, index: int, *, reviewer: str, note: str | None = None, stage: HumanStage = HumanStage.OWN
) -> Override:
    """Take back a reviewer's decision about one item; the software's decision, or that of others, counts again.

    Raises `InvalidParameters` where the reviewer has decided nothing, naming who did; else as `override`.
    """
    return decide(batch, [HumanDecision(index, None, reviewer, note, withdraw=True, stage=stage)])[0]


def decide(batch: Batch, decisions: Sequence[HumanDecision]) -> list[Override]:
    """Record many decisions, all or none; return what each reviewer has said of each item now, in the order given.

    Raises `RefusedDecision`, an `InvalidParameters` with the place of the refused one, and `LedgerUnavailable`.
    """
    with batch.session.writing() as connection:
        return list(record_overrides.record(connection, batch.uuid, decisions).overrides)


def list_overrides(batch: Batch, *, history: bool = False) -> list[Override]:
    """Return each reviewer's standing decision, in item order; with `history` all ever made, withdrawals too.

    `ItemResult.override` is the decision that counts. Raises `LedgerUnavailable`.
    """
    with batch.session.reading() as connection:
        return ledger.read_overrides(connection, batch.uuid, history=history)


def count_human_decisions(batch: Batch) -> HumanCounts | None:
    """Return how many records people decided about, as the software or otherwise; None where nobody did.

    Raises `LedgerUnavailable`.
    """
    with batch.session.reading() as connection:
        return ledger.read_human_counts(connection, batch.uuid)


def list_conflicts(batch: Batch) -> list[Conflict]:
    """Return the records on which people disagree and no decision settles it, with everybody's decision.

    Raises `LedgerUnavailable`.
    """
    with batch.session.snapshot() as connection:
        return conflicts.read_conflicts(connection, batch.uuid)
