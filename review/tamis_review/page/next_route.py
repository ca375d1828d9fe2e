"""The route of the reading order: what a person should read next."""

from typing import Annotated

from fastapi import APIRouter, Query

from tamis_producer.gateway import problems
from tamis_producer.gateway.access import Of, Reader
from tamis_producer.gateway.description import BatchId
from tamis_review.reading import next_records
from tamis_schemas import Blinded, NextRecords, ReadingBy

from ..order.exploration import EXPLORE
from ..order.next_records import LONGEST_NAME, MOST, USUAL
from .sight import sight_of

router = APIRouter(
    prefix="/v1/batches/{batch_id}", tags=["human decisions"], responses=problems.KEYED | problems.UNKNOWN
)

LARGEST_SEED = 2**63 - 1


@router.get(
    "/next",
    summary="The records that a person should read next, each with the reason for its place",
)
def get_next_records(
    batch_id: BatchId,
    client: Of,
    key: Reader,
    n: Annotated[int, Query(ge=1, le=MOST)] = USUAL,
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
