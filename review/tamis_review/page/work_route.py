"""The route of the work list: the records that whoever asks reads, filtered, in order, page by page."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query

from tamis_producer.gateway import problems
from tamis_producer.gateway.access import Of, Reader
from tamis_producer.gateway.description import BatchId
from tamis_review.reading import order_refits

from ..decisions.final_outcome import Outcome
from ..report.work_list import WorkList, read_work
from ..report.work_query import LONGEST_SEARCH, MOST, USUAL, WorkOrder, WorkQuery, WorkShow

router = APIRouter(
    prefix="/v1/batches/{batch_id}", tags=["human decisions"], responses=problems.KEYED | problems.UNKNOWN
)

LONGEST = 2_000  # characters of a reason


@router.get(
    "/work",
    summary="The records that whoever asks reads, with what is said of them: filtered, in order, page by page",
)
def get_work(
    batch_id: BatchId,
    client: Of,
    key: Reader,
    order: Annotated[
        WorkOrder,
        Query(description="number: of the batch; next: the reading order; disagreement: of people, of models."),
    ] = WorkOrder.NUMBER,
    show: Annotated[WorkShow, Query(description="todo: what waits for the key's holder.")] = WorkShow.TODO,
    outcome: Annotated[Outcome | None, Query(description="Records of this outcome alone.")] = None,
    reason: Annotated[
        str | None, Query(max_length=LONGEST, description="Excluded for it: its words, or its criterion's label.")
    ] = None,
    label: Annotated[str | None, Query(max_length=200, description="Records with this label alone.")] = None,
    flagged: Annotated[bool, Query(description="Those of which a quote is altered, or not in the record.")] = False,
    q: Annotated[
        str | None, Query(max_length=LONGEST_SEARCH, description="Words that all occur in the record.")
    ] = None,
    after: Annotated[str | None, Query(max_length=100, description="`next` of the page before.")] = None,
    limit: Annotated[int, Query(ge=1, le=MOST)] = USUAL,
) -> WorkList:
    """Of a record that is hidden from the key's holder, its text alone; filters that tell of decisions pass it over.

    In the mode `model_audited` the list is the sample of an audit, in the order of the draw: of those with unjudged
    records the last, else the last one.
    """
    query = WorkQuery(order, show, outcome, reason or None, label or None, flagged, q or None, after, limit)
    return read_work(client.engine, UUID(client.batch(batch_id).id), key.label, query, order_refits(client))
