"""Routes for people who read: who sees whose decisions, what to read next, and the work list."""

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict

from tamis_producer.gateway import problems
from tamis_producer.gateway.access import Of, Operator, Reader
from tamis_producer.gateway.description import BatchId
from tamis_review import reading
from tamis_review.reading import next_records, order_refits
from tamis_schemas import Blinded, NextRecords, ReadingBy, ScreeningMode, ScreeningModeSet
from tamis_schemas.records.random_order import LARGEST_SEED

from ..decisions.final_outcome import Outcome
from ..order.exploration import EXPLORE
from ..order.next_records import LONGEST_NAME
from ..order.next_records import MOST as MOST_NEXT
from ..order.next_records import USUAL as USUAL_NEXT
from ..report.work_filter import LONGEST_SEARCH, MOST, USUAL, WorkOrder, WorkQuery, WorkShow
from ..report.work_list import WorkList, read_work
from .sight import sight_of

router = APIRouter(
    prefix="/v1/batches/{batch_id}", tags=["human decisions"], responses=problems.KEYED | problems.UNKNOWN
)


class NewMode(BaseModel):
    """The screening mode to be set."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"mode": "pair"}]})

    mode: ScreeningMode


@router.get("/mode", summary="How people read a batch, and who set it when")
def get_screening_mode(batch_id: BatchId, client: Of, _: Reader) -> ScreeningModeSet:
    return reading.get_screening_mode(client.batch(batch_id))


@router.put(
    "/mode",
    summary="Set how people read a batch: openly, in pairs, beside the model, or a sample of what it excluded",
    responses=problems.OF_BODIES,
)
def set_screening_mode(batch_id: BatchId, wanted: NewMode, client: Of, key: Operator) -> ScreeningModeSet:
    return reading.set_screening_mode(client.batch(batch_id), wanted.mode, set_by=key.label)


@router.get(
    "/next",
    summary="The records that a person should read next, each with the reason for its place",
)
def get_next_records(
    batch_id: BatchId,
    client: Of,
    key: Reader,
    n: Annotated[int, Query(ge=1, le=MOST_NEXT)] = USUAL_NEXT,
    reviewer: Annotated[
        str | None,
        Query(
            min_length=1,
            max_length=LONGEST_NAME,
            description="Where people read in pairs: records that this person has not decided on.",
        ),
    ] = None,
    seed: Annotated[int, Query(ge=0, le=LARGEST_SEED, description="Draws what chance decides.")] = 0,
    explore: Annotated[float, Query(ge=0, le=1, description="The share of places that chance draws.")] = EXPLORE,
    fresh: Annotated[bool, Query(description="Wait until the order knows every decision.")] = False,
    by: Annotated[
        ReadingBy, Query(description="disagreement: first the records on which the models of a panel differ.")
    ] = ReadingBy.ORDER,
) -> NextRecords:
    """At once, from the order that is kept; `current` says whether it knows every decision.

    Where people read blind, by number.
    """
    sight = sight_of(client, batch_id, key)
    if not sight.blind:
        return next_records(
            client.batch(batch_id), n, reviewer=reviewer, seed=seed, explore=explore, fresh=fresh, by=by
        )
    sight.check_name(reviewer)
    if by is not ReadingBy.ORDER:
        raise Blinded("people read blind: where the models of a panel differ is what they said")
    return next_records(client.batch(batch_id), n, reviewer=sight.me, seed=seed, blind=True)


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
    return read_work(client.engine, client.batch(batch_id).uuid, key.label, query, order_refits(client))
