"""Routes of reviews, and of reports on a review or a batch.

A thread writes a report to a file, which is then sent as a stream.
"""

from collections.abc import Sequence
from datetime import datetime
from functools import partial
from http import HTTPStatus
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Depends, Path, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from pydantic import BaseModel, ConfigDict, Field

from tamis_producer import ledger
from tamis_producer.client.batch import Batch
from tamis_producer.client.client import Client
from tamis_producer.gateway import problems
from tamis_producer.gateway.access import Of, Operator, Reader, Reviewer
from tamis_producer.gateway.api_keys import LONGEST_LABEL, ApiKey
from tamis_producer.gateway.batch_status_view import BatchStatusView
from tamis_producer.gateway.description import BatchId, in_forms
from tamis_producer.gateway.etag import tagged
from tamis_producer.gateway.lists import ListPage
from tamis_producer.gateway.streams import Stream
from tamis_producer.ledger import read_reviews
from tamis_producer.ledger.batch_view import ReviewView
from tamis_review import reading
from tamis_review.plans.reviews import Review, find_review
from tamis_review.reports import write_report
from tamis_schemas import BatchStatus, cost_words
from tamis_schemas.values.frozen import Frozen

from ..report import ReportForm
from ..report.form import ReportDocument
from ..report.team import Team, read_team
from .written import written


class ReviewStageView(BatchStatusView, Team):
    """A stage of a review: its batch, and the work left in it. `todo` counts the work of the key's holder."""

    name: str  # in the review's plan


class ReviewStatusView(Frozen):
    """The state of a review at one moment, with its cost and the next step for the caller."""

    id: str
    label: str
    created_at: datetime
    finished_at: datetime | None
    state: str  # running, paused, cancelled or completed
    planned: tuple[str, ...]  # names of all stages
    stages: tuple[ReviewStageView, ...]  # begun stages, in order
    paid: str  # cost of the stages so far, in words
    next_step: str  # in a few words, for the key's holder


class Invitation(BaseModel):
    """The person to invite."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"name": "Reviewer B"}]})

    name: str = Field(min_length=1, max_length=LONGEST_LABEL, description="The name in all decisions.")


class Invited(Frozen):
    """The key of a new reader."""

    key: str  # shown only here: the ledger keeps a hash


def next_step(state: str, left: Sequence[Team]) -> str:
    """Return the next step in a review as text. `left`: the work left in each stage.

    Conflicts have priority, then the software's work, then records to read, then audits.
    """
    conflicts, todo = sum(work.conflicts for work in left), sum(work.todo for work in left)
    if conflicts:
        return f"{conflicts:,} {'conflict' if conflicts == 1 else 'conflicts'} to settle"
    if state == BatchStatus.PAUSED:
        return "paused"
    if state in (BatchStatus.PENDING, BatchStatus.RUNNING):
        return "runs"
    if todo:
        return f"{todo:,} {'record' if todo == 1 else 'records'} to read"
    if any(work.audit_due for work in left):
        return "an audit to draw"
    if others := sum(work.to_read - work.read for work in left):
        return f"{others:,} {'record' if others == 1 else 'records'} for others to read"
    return "cancelled" if state == BatchStatus.CANCELLED else "finished"


review_router = APIRouter(prefix="/v1", tags=["reviews"], responses=problems.KEYED | problems.UNKNOWN)
report_router = APIRouter(prefix="/v1", tags=["batches"], responses=problems.KEYED)
MOST_LISTED = 100
ReviewId = Annotated[str, Path(description="The id of a review, or the beginning of the id.", examples=["3f2a"])]
REPORT_TYPES = {
    ReportForm.HTML: "text/html",
    ReportForm.SVG: "image/svg+xml",
    ReportForm.PNG: "image/png",
    ReportForm.MD: "text/markdown",
    ReportForm.JSON: "application/json",
}
REPORTS: dict[int | str, dict[str, Any]] = {HTTPStatus.OK.value: in_forms(REPORT_TYPES, ReportDocument)}


@review_router.get("/reviews", summary="List the latest reviews, newest first, each with its next step")
def list_reviews(
    client: Of,
    key: Reader,
    limit: Annotated[int, Query(ge=1, le=MOST_LISTED)] = 20,
    after: Annotated[
        str | None, Query(max_length=36, description="Only reviews before this one: its id, or the beginning of it.")
    ] = None,
) -> ListPage[ReviewStatusView, str]:
    return ListPage.of(_read(client, key.label, limit=limit + 1, after=after), limit, lambda review: review.id)


@review_router.get("/reviews/{review_id}", summary="Get the state of a review, and its next step")
def get_review(review_id: ReviewId, client: Of, key: Reader) -> ReviewStatusView:
    return _read(client, key.label, review_id=UUID(find_review(client, review_id).id))[0]


@review_router.get(
    "/reviews/{review_id}/report",
    summary="Get the report of all stages of a review, in the same forms as a batch's report",
    response_class=Response,
    responses=REPORTS,
)
async def get_review_report(
    review_id: ReviewId, request: Request, client: Of, key: Reader, form: ReportForm = ReportForm.HTML
) -> Stream:
    """Return the report. The answer is 403 while a decision of any stage is hidden from the key's holder."""
    return await report_stream(request, key, await run_in_threadpool(find_review, client, review_id), form)


@review_router.post(
    "/readers", status_code=HTTPStatus.CREATED, summary="Add a reader", responses=problems.CONFLICT | problems.OF_BODIES
)
def invite_reader(invitation: Invitation, client: Of, _: Operator, __: Reader, ___: Reviewer) -> Invited:
    """Make a key with the scopes `read` and `decide`. The caller's key needs these and the scope `control`."""
    return Invited(key=reading.invite_reader(client, invitation.name))


def _read(
    client: Client, me: str, *, review_id: UUID | None = None, limit: int = 1, after: str | None = None
) -> list[ReviewStatusView]:
    with client.snapshot() as connection:
        behind = None if after is None else ledger.find_review(connection, after)
        reviews = read_reviews(connection, review_id=review_id, limit=limit, after=behind)
        return [_view(review, [read_team(connection, stage, me) for stage in review.stages]) for review in reviews]


def _view(review: ReviewView, left: Sequence[Team]) -> ReviewStatusView:
    stages = tuple(
        ReviewStageView(**dict(BatchStatusView.of(stage)), name=name, **dict(here))
        for stage, name, here in zip(review.stages, review.planned, left, strict=False)
    )
    words = {"paid": cost_words(review.cost, review.unpriced), "next_step": next_step(review.state, left)}
    return ReviewStatusView(**dict(review) | {"state": review.state, "stages": stages} | words)


async def report_stream(request: Request, key: ApiKey, subject: Batch | Review, form: ReportForm) -> Stream:
    """Return the report of a batch or review as a streamed response. Raise the errors of `write_report`."""
    writing = await written(partial(write_report, subject, form), request.app.state.writers)
    # The report's scripts run, but not as part of this site.
    sandbox = {"Content-Security-Policy": "sandbox allow-scripts allow-downloads"}
    return Stream(writing, of=request.app.state.streams, key=key, media_type=REPORT_TYPES[form], headers=sandbox)


@report_router.get(
    "/batches/{batch_id}/report",
    summary="Get the report: an HTML page, the flow as SVG or PNG, the text as Markdown, or the figures as JSON",
    response_class=Response,
    responses=REPORTS | problems.UNCHANGED | problems.UNKNOWN,
    dependencies=[Depends(tagged)],
)
async def get_report(
    batch_id: BatchId, request: Request, client: Of, key: Reader, form: ReportForm = ReportForm.HTML
) -> Stream:
    return await report_stream(request, key, await run_in_threadpool(client.batch, batch_id), form)
