"""Routes of reviews: how they stand, and what is left in their stages for whoever asks."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Path, Query

from ..client.client import Client
from ..ledger import find_review, ledger_errors, read_reviews
from ..report.work_left import read_left
from . import problems
from .access import Of, Reader
from .review_status_view import ReviewStatusView

router = APIRouter(prefix="/v1/reviews", tags=["reviews"], responses=problems.KEYED | problems.UNKNOWN)

MOST_LISTED = 100


@router.get("", operation_id="list_reviews", summary="The latest reviews, newest first, each with what comes next")
def reviews(
    client: Of,
    key: Reader,
    limit: Annotated[int, Query(ge=1, le=MOST_LISTED)] = 20,
    after: Annotated[
        str | None, Query(max_length=36, description="A review's id, or its beginning: those before it.")
    ] = None,
) -> list[ReviewStatusView]:
    return _read(client, key.label, limit=limit, after=after)


@router.get("/{review_id}", operation_id="get_review", summary="How a review stands, and what comes next")
def review(
    review_id: Annotated[str, Path(description="A review's id, or its beginning.", examples=["3f2a"])],
    client: Of,
    key: Reader,
) -> ReviewStatusView:
    return _read(client, key.label, review_id=UUID(client.review(review_id).id))[0]


def _read(
    client: Client, me: str, *, review_id: UUID | None = None, limit: int = 1, after: str | None = None
) -> list[ReviewStatusView]:
    with ledger_errors(), client.snapshot() as connection:
        behind = None if after is None else find_review(connection, after)
        views = read_reviews(connection, review_id=review_id, limit=limit, after=behind)
        return [
            ReviewStatusView.of(view, [read_left(connection, stage, me) for stage in view.stages]) for view in views
        ]
