"""Items for a later stage that judges the results of a batch against their records."""

from typing import Any

from tamis_schemas import ItemResult, ItemStatus
from tamis_schemas.records.item import shown_fields, shown_text


def judge_item(row: ItemResult) -> dict[str, Any] | None:
    """Return the item for the `judge` operation, made from a result.

    Return None if the result has no value or no reasoning, or if a human changed the value. The item's `context` is the
    record as text, and `_index` is the result's number in the batch, from 0.
    """
    if row.status != ItemStatus.DECIDED or row.result is None or not row.result.reasoning:
        return None
    # The model's reasoning is not about a human's value. Without a value in the record, there is no claim.
    if row.overridden or (value := row.value) is None:
        return None
    title = row.item.get("title")
    return {
        "id": row.item_id,
        **({"title": title} if title else {}),  # for people who search for the record
        "value": value,
        "confidence": row.result.confidence,
        "reasoning": row.result.reasoning,
        "context": "\n".join(f"{name}: {shown_text(value)}" for name, value in shown_fields(row.item).items()),
        "_index": row.index,
    }


def judgement_label(judged: str) -> str:
    """Return the label for a batch that judges another batch. `judged`: the label or id of the judged batch."""
    return f"judgement of {judged}"
