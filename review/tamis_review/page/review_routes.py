"""Routes of reviews: how they stand, and what is left in their stages for whoever asks."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Path, Query, Request, Response
from fastapi.concurrency import run_in_threadpool

from tamis_producer import ledger
from tamis_producer.client.client import Client
from tamis_producer.gateway import problems
from tamis_producer.gateway.access import Of, Reader
from tamis_producer.gateway.api_keys import ApiKey
from tamis_producer.gateway.streams import Stream
from tamis_producer.ledger import ledger_errors, read_reviews
from tamis_review.plans.reviews import find_review

from ..report import ReportForm
from ..report.work_left import read_left
from .report_stream import REPORTS, report_stream
from .review_status_view import ReviewStatusView
from .sight import sight_of

router = APIRouter(prefix="/v1/reviews", tags=["reviews"], responses=problems.KEYED | problems.UNKNOWN)

MOST_LISTED = 100
ReviewId = Annotated[str, Path(description="A review's id, or its beginning.", examples=["3f2a"])]


@router.get("", summary="The latest reviews, newest first, each with what comes next")
def list_reviews(
    client: Of,
    key: Reader,
    limit: Annotated[int, Query(ge=1, le=MOST_LISTED)] = 20,
    after: Annotated[
        str | None, Query(max_length=36, description="A review's id, or its beginning: those before it.")
    ] = None,
) -> list[ReviewStatusView]:
    return _read(client, key.label, limit=limit, after=after)


@router.get("/{review_id}", summary="How a review stands, and what comes next")
def get_review(review_id: ReviewId, client: Of, key: Reader) -> ReviewStatusView:
    return _read(client, key.label, review_id=UUID(find_review(client, review_id).id))[0]


@router.get(
    "/{review_id}/report",
    summary="The report of all stages of a review, in the forms that a batch's has",
    response_class=Response,
    responses=REPORTS,
)
async def get_review_report(
    review_id: ReviewId, request: Request, client: Of, key: Reader, form: ReportForm = ReportForm.HTML
) -> Stream:
    """403 while a record of any stage is read blind, and hidden from the key's holder."""
    found = await run_in_threadpool(_open_review, client, review_id, key)
    return await report_stream(request, client, key, found, form)


def _open_review(client: Client, review_id: str, key: ApiKey) -> str:
    review = find_review(client, review_id)
    for stage in review.stages():
        sight_of(client, stage.id, key).check_whole()
    return review.id


def _read(
    client: Client, me: str, *, review_id: UUID | None = None, limit: int = 1, after: str | None = None
) -> list[ReviewStatusView]:
    with ledger_errors(), client.snapshot() as connection:
        behind = None if after is None else ledger.find_review(connection, after)
        views = read_reviews(connection, review_id=review_id, limit=limit, after=behind)
        return [
            ReviewStatusView.of(view, [read_left(connection, stage, me) for stage in view.stages]) for view in views
        ]
