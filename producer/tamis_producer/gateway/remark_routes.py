"""Routes of labels and notes: what people put on records to find them again."""

from http import HTTPStatus

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field, StrictBool

from . import problems
from .access import Of, Reader, Reviewer
from .description import BatchId, Index

router = APIRouter(
    prefix="/v1/batches/{batch_id}", tags=["labels and notes"], responses=problems.KEYED | problems.UNKNOWN
)
MOST = 20  # texts of one request


class Remarks(BaseModel):
    """Labels and notes to put on an item, or to take off it."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"labels": ["to discuss"]}]})

    labels: list[str] = Field(default_factory=list, max_length=MOST)
    notes: list[str] = Field(default_factory=list, max_length=MOST)
    remove: StrictBool = Field(default=False, description="Take them off instead.")
    reviewer: str | None = Field(default=None, max_length=100, description="Who says it; without it, the key's label.")


class Changed(BaseModel):
    """The outcome of a request."""

    changed: int = Field(description="How many were not so already.")


@router.get("/labels", operation_id="list_labels", summary="The labels on a batch's items, and how many bear each")
def labels(batch_id: BatchId, client: Of, _: Reader) -> dict[str, int]:
    return dict(client.batch(batch_id).labels())


@router.post(
    "/items/{index}/remarks",
    operation_id="remark_item",
    status_code=HTTPStatus.CREATED,
    summary="Put labels and notes on an item, or take them off",
    responses=problems.OF_BODIES,
)
def remark(batch_id: BatchId, index: Index, remarks: Remarks, client: Of, key: Reviewer) -> Changed:
    return Changed(
        changed=client.batch(batch_id).remark(
            [index],
            labels=remarks.labels,
            notes=remarks.notes,
            reviewer=remarks.reviewer or key.label,
            remove=remarks.remove,
        )
    )
