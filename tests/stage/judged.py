"""Rows of a batch's results, each with one decision, and their evaluation by labels."""

from collections.abc import Iterable, Mapping

from tamis_review.quality import gold_evaluation
from tamis_review.quality.gold_labels import GoldLabels, labels_of
from tamis_review.quality.matching import match
from tamis_schemas import ErrorKind, EvaluationResult, Exclusion, ItemResult, ItemStatus
from tamis_schemas.answers.exclusion import DUPLICATE


def row(index: int, item_id: str, value: str | bool | None = "include", confidence: float = 0.9) -> ItemResult:
    """A record that a model decided."""
    return ItemResult(
        index=index,
        item_id=item_id,
        status=ItemStatus.DECIDED,
        item={"id": item_id, "title": f"Title {item_id}"},
        result=EvaluationResult(value=value, confidence=confidence, reasoning="so it is"),
    )


def failed_row(index: int, item_id: str, kind: ErrorKind = ErrorKind.TIMEOUT) -> ItemResult:
    """A record whose evaluation failed."""
    result = EvaluationResult(error="it took too long")
    return ItemResult(index=index, item_id=item_id, status=ItemStatus.FAILED, result=result, error_kind=kind)


def open_row(index: int, item_id: str, status: ItemStatus = ItemStatus.PENDING) -> ItemResult:
    """A record without a result."""
    return ItemResult(index=index, item_id=item_id, status=status)


def rejected(index: int, item_id: str, rule: str = "protocol") -> ItemResult:
    """A record that the initial filter excluded."""
    return ItemResult(
        index=index,
        item_id=item_id,
        status=ItemStatus.EXCLUDED_BY_FILTER,
        item={"id": item_id, "title": f"Title {item_id}"},
        exclusion=Exclusion(rule=rule, reason="It is a protocol."),
    )


def copied(index: int, item_id: str, *, of: int) -> ItemResult:
    """A copy of another record."""
    exclusion = Exclusion(rule=DUPLICATE, reason="A copy.", duplicate_of=of)
    return ItemResult(index=index, item_id=item_id, status=ItemStatus.EXCLUDED_BY_FILTER, exclusion=exclusion)


def evaluate(rows: Iterable[ItemResult], labels: GoldLabels | Mapping[str, bool]) -> gold_evaluation.GoldEvaluation:
    """The evaluation of rows by labels, or by item id with True for included."""
    return gold_evaluation.evaluate(match(rows, labels_of(labels)))
