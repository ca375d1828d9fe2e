"""A second stage: the results of a batch as classifications to be judged against their records (spec 5)."""

from collections.abc import Iterable, Iterator
from typing import Any

from tamis_schemas import ItemResult, ItemStatus
from tamis_schemas.records.item import shown_fields, shown_text


def judge_item(row: ItemResult) -> dict[str, Any] | None:
    """The item for the `judge` operation; None for a result that does not explain itself: it has no evidence to judge.

    `context` is the record as text, `_index` the result's place in its batch.
    """
    if row.status != ItemStatus.DECIDED or row.result is None or not row.result.reasoning:
        return None
    if row.overridden:  # the value that counts is a human's: the model's reasoning does not speak of it
        return None
    if (value := row.value) is None:  # the record does not hold it: nothing was claimed
        return None
    return {
        "id": row.item_id,
        "value": value,
        "confidence": row.result.confidence,
        "reasoning": row.result.reasoning,
        "context": "\n".join(f"{name}: {shown_text(value)}" for name, value in shown_fields(row.item).items()),
        "_index": row.index,
    }


def to_judge(results: Iterable[ItemResult]) -> Iterator[dict[str, Any]]:
    """One item for the `judge` operation per result that explains itself."""
    for row in results:
        if (item := judge_item(row)) is not None:
            yield item
