"""Routes of labels and notes: what people put on records to find them again."""

from http import HTTPStatus

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field, StrictBool

from tamis_producer.gateway import problems
from tamis_producer.gateway.access import Of, Reader, Reviewer
from tamis_producer.gateway.description import BatchId, Index
from tamis_review.remarks import count_labels, remark

from .sight import sight_of

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


@router.get("/labels", summary="The labels on a batch's items, and how many bear each")
def list_labels(batch_id: BatchId, client: Of, key: Reader) -> dict[str, int]:
    """Of records that are still read blind, the caller's own labels alone are counted."""
    sight = sight_of(client, batch_id, key)
    return dict(count_labels(client.batch(sight.batch_id), reviewer=sight.me, hidden=sight.hidden))


@router.post(
    "/items/{index}/remarks",
    status_code=HTTPStatus.CREATED,
    summary="Put labels and notes on an item, or take them off",
    responses=problems.OF_BODIES,
)
def remark_item(batch_id: BatchId, index: Index, remarks: Remarks, client: Of, key: Reviewer) -> Changed:
    sight = sight_of(client, batch_id, key)
    sight.check_name(remarks.reviewer)
    return Changed(
        changed=remark(
            client.batch(batch_id),
            [index],
            labels=remarks.labels,
            notes=remarks.notes,
            reviewer=remarks.reviewer or key.label,
            remove=remarks.remove,
            alone=index in sight.hidden,  # the answer does not tell whether others have said so
        )
    )
