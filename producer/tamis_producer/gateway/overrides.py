"""Routes of human decisions: they stand beside the model's, never over them."""

from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path
from pydantic import BaseModel, ConfigDict, Field

from tamis_schemas.answers.override import Override

from ..client.client import Client
from . import problems
from .access import client_of, holder_of
from .api_keys import ApiKey, Scope
from .description import BatchId

router = APIRouter(
    prefix="/v1/batches/{batch_id}", tags=["human decisions"], responses=problems.KEYED | problems.UNKNOWN
)

Reader = Annotated[ApiKey, Depends(holder_of(Scope.READ))]
Reviewer = Annotated[ApiKey, Depends(holder_of(Scope.DECIDE))]
Of = Annotated[Client, Depends(client_of)]
Index = Annotated[int, Path(ge=0, lt=2**31, description="The item's place in its batch.")]  # as the ledger counts


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
