"""People's decisions about the records of a batch. They are stored in addition to the model's decisions."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

from tamis_producer import ledger
from tamis_producer.client.batch import Batch
from tamis_producer.ledger import HumanCounts
from tamis_schemas import HumanStage, ItemResult, Override

from .decisions import conflicts, record_overrides
from .decisions.conflicts import Conflict
from .decisions.record_overrides import HumanDecision
from .decisions.visibility import visible


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
    in_order: bool = False,
) -> Override:
    """Record a reviewer's decision about an item, and return it.

    The decision replaces only the same reviewer's earlier decision. If people disagree, no decision counts until a
    further decision settles the conflict.

    Args:
        batch: the batch.
        index: the item's place in the batch, from 0.
        value: a possible value of the operation: `include`, `exclude` or `uncertain` (others shall decide); True or
            False; a number of the scale; an extracted text (None: not present in the record); an object of fields.
            For the retrieval of a report: `retrieved` or `not retrieved`. For a full text: `include`, `exclude` or
            `uncertain`.
        reviewer: the author of the decision.
        note: a remark in free text.
        settles: this decision overrides other people's decisions.
        stage: the subject of the decision: the batch's question, retrieval of the report, or its full text.
        reason: the reason for the exclusion, or for not retrieving the report.
        decision_id: an id that the caller chooses. If a decision with this id is already recorded, that decision is
            returned, and nothing is written.
        in_order: the reviewer took the record from the reading order. The report's methods count these records.

    Raises:
        IdempotencyConflict: the `decision_id` belongs to another decision.
        InvalidParameters: an impossible value, an unknown item, or no reviewer.
        Blinded: people read the batch blind, and the decision is in another person's name, or requires knowledge of
            decisions that are hidden.
        LedgerUnavailable: the ledger does not answer.
    """
    terms: dict[str, Any] = {"stage": stage, "reason": reason, "settles": settles, "decision_id": decision_id}
    return decide(batch, [HumanDecision(index, value, reviewer, note, in_order=in_order, **terms)])[0]


def withdraw_override(
    batch: Batch,
    index: int,
    *,
    reviewer: str,
    note: str | None = None,
    stage: HumanStage = HumanStage.OWN,
    decision_id: UUID | None = None,
) -> Override:
    """Withdraw a reviewer's decision about an item, so that the software's or other people's decision counts.

    If a withdrawal with this `decision_id` is already recorded, nothing more is withdrawn.

    Raises `InvalidParameters` if this reviewer has no decision on the item, and the errors of `override`.
    """
    withdrawal = HumanDecision(index, None, reviewer, note, withdraw=True, stage=stage, decision_id=decision_id)
    return decide(batch, [withdrawal])[0]


def decide(batch: Batch, decisions: Sequence[HumanDecision]) -> list[Override]:
    """Record all the decisions, or none, and return the recorded decisions in the order of `decisions`.

    Raises `RefusedDecision`, an `InvalidParameters` with the position of the invalid decision in `decisions`. Also
    raises `Blinded` and `LedgerUnavailable`, as `override` does.
    """
    with batch.session.writing() as connection:
        seen = visible(connection, batch)
        for decision in decisions:
            seen.check_name(decision.reviewer)
            if not decision.withdraw:
                seen.check_decision(decision.index, decision.stage, settles=decision.settles)
        if seen.blind:  # people who read blind follow the record numbers, not the reading order
            decisions = [replace(decision, in_order=False) for decision in decisions]
        made = record_overrides.record(connection, batch.uuid, decisions).overrides
        return visible(connection, batch).overrides(made)  # a decision may open its record


def list_overrides(batch: Batch, *, history: bool = False) -> list[Override]:
    """Return each reviewer's current decisions, in item order. With `history`, return all decisions and withdrawals.

    The decision that counts for an item is in `ItemResult.override`. May raise `LedgerUnavailable`.
    """
    with batch.session.snapshot() as connection:
        return visible(connection, batch).overrides(ledger.read_overrides(connection, batch.uuid, history=history))


def count_human_decisions(batch: Batch) -> HumanCounts | None:
    """Return how many records people decided, and how often they agreed with the software. None: no record is decided.

    Raises `LedgerUnavailable`, and `Blinded` if a decision is hidden from the client's user.
    """
    with batch.session.snapshot() as connection:
        visible(connection, batch).check_whole()
        return ledger.read_human_counts(connection, batch.uuid)


def list_conflicts(batch: Batch) -> list[Conflict]:
    """Return the unsettled conflicts: the records on which people disagree, with all decisions on them.

    Conflicts that are hidden from the client's user are omitted. May raise `LedgerUnavailable`.
    """
    with batch.session.snapshot() as connection:
        hidden = visible(connection, batch).hidden
        everything = conflicts.read_conflicts(connection, batch.uuid)
        return [conflict for conflict in everything if conflict.index not in hidden]


def read_visible(batch: Batch, places: Collection[int]) -> list[ItemResult]:
    """Return the results of the items with these numbers, in item order. May raise `LedgerUnavailable`.

    An item whose decisions are hidden from the client's user looks undecided.
    """
    with batch.session.snapshot() as connection:
        seen = visible(connection, batch)
        return seen.results(ledger.read_results(connection, batch.uuid, None, len(places), sorted(places)))
