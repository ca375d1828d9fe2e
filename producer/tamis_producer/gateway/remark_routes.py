"""Routes of labels and notes: what people put on records to find them again."""

from http import HTTPStatus
from uuid import UUID

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field, StrictBool

from tamis_schemas import RemarkKind

from ..client.client import Client
from ..decisions.record_remarks import NewRemark
from ..decisions.record_remarks import remark as write_remarks
from ..ledger import ledger_errors, read_label_counts
from . import problems
from .access import Of, Reader, Reviewer
from .description import BatchId, Index
from .sight import Sight, sight_of

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
    with ledger_errors(), client.engine.connect() as connection:
        return dict(read_label_counts(connection, UUID(sight.batch_id), me=sight.me, hidden=sight.hidden))


@router.post(
    "/items/{index}/remarks",
    status_code=HTTPStatus.CREATED,
    summary="Put labels and notes on an item, or take them off",
    responses=problems.OF_BODIES,
)
def remark_item(batch_id: BatchId, index: Index, remarks: Remarks, client: Of, key: Reviewer) -> Changed:
    sight = sight_of(client, batch_id, key)
    sight.check_name(remarks.reviewer)
    if index in sight.hidden:  # whether somebody else has said so is not told either
        return Changed(changed=_remark_alone(client, sight, index, remarks))
    return Changed(
        changed=client.batch(batch_id).remark(
            [index],
            labels=remarks.labels,
            notes=remarks.notes,
            reviewer=remarks.reviewer or key.label,
            remove=remarks.remove,
        )
    )


def _remark_alone(client: Client, sight: Sight, index: int, remarks: Remarks) -> int:
    """Put labels and notes on a hidden record, or take them off, beside whatever others have put there."""
    new = [NewRemark(RemarkKind.LABEL, text, remarks.remove) for text in remarks.labels]
    new += [NewRemark(RemarkKind.NOTE, text, remarks.remove) for text in remarks.notes]
    with ledger_errors(), client.engine.begin() as connection:
        return write_remarks(connection, UUID(sight.batch_id), [index], new, reviewer=sight.me, alone=True)
