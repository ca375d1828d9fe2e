"""Routes of human decisions: they stand beside the model's, never over them."""

from http import HTTPStatus
from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from tamis_schemas.answers.override import Override

from . import problems
from .access import Of, Reader, Reviewer
from .description import BatchId, Index

router = APIRouter(
    prefix="/v1/batches/{batch_id}", tags=["human decisions"], responses=problems.KEYED | problems.UNKNOWN
)


class Decision(BaseModel):
    """A human's decision on one item."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"value": "include", "note": "seen"}]})

    value: Any = Field(description="As the batch's operation gives it: include or exclude, true or false, a number.")
    note: str | None = Field(default=None, max_length=2_000)
    reviewer: str | None = Field(default=None, max_length=100, description="Who says it; without it, the key's label.")


@router.get(
    "/overrides", operation_id="list_overrides", summary="What people decided, the latest decision of each item"
)
def overrides(batch_id: BatchId, client: Of, _: Reader) -> list[Override]:
    return client.overrides(batch_id)


@router.post(
    "/items/{index}/override",
    operation_id="override_item",
    status_code=HTTPStatus.CREATED,
    summary="Decide an item, beside the model's decision",
    responses=problems.OF_BODIES,
)
def override(batch_id: BatchId, index: Index, decision: Decision, client: Of, key: Reviewer) -> Override:
    return client.override(batch_id, index, decision.value, reviewer=decision.reviewer or key.label, note=decision.note)


@router.delete(
    "/items/{index}/override",
    operation_id="withdraw_override",
    status_code=HTTPStatus.NO_CONTENT,
    summary="Withdraw what people decided of an item",
)
def withdraw(batch_id: BatchId, index: Index, client: Of, key: Reviewer) -> None:
    client.withdraw_override(batch_id, index, reviewer=key.label)
