"""A second stage: the results of a batch as classifications to be judged against their records (spec 5)."""

from typing import Any

from tamis_schemas import ItemResult, ItemStatus
from tamis_schemas.records.item import shown_fields, shown_text


def judge_item(row: ItemResult) -> dict[str, Any] | None:
    """The item for the `judge` operation; None for a result that does not explain itself: it has no evidence to judge.

    `context` is the record as text, `title` its title where it has one, `_index` the result's place in its batch.
    """
    if row.status != ItemStatus.DECIDED or row.result is None or not row.result.reasoning:
        return None
    # The model's reasoning does not speak of a human's value. Where the record holds none, nothing was claimed.
    if row.overridden or (value := row.value) is None:
        return None
    title = row.item.get("title")
    return {
        "id": row.item_id,
        **({"title": title} if title else {}),  # for people, who look for the record
        "value": value,
        "confidence": row.result.confidence,
        "reasoning": row.result.reasoning,
        "context": "\n".join(f"{name}: {shown_text(value)}" for name, value in shown_fields(row.item).items()),
        "_index": row.index,
    }


def judgement_label(judged: str) -> str:
    """What people call the batch that judges the batch of this label, or id."""
    return f"judgement of {judged}"
