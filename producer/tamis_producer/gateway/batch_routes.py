"""Routes of batches (submit, list, read and control), and routes for an overview of the installation."""

from collections.abc import Callable, Sequence
from functools import partial
from http import HTTPStatus
from importlib.metadata import version
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Header, HTTPException, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, ConfigDict, Field, StrictBool

from tamis_schemas import ErrorKind, ItemResult, Priority, Summary

from ..client.batch import Batch
from ..config.redaction import shown_url
from ..ledger import find_batch, ledger_errors, read_labelled, read_views
from ..ledger.batch_view import ServiceTraffic
from . import problems
from .access import Of, Operator, Reader, Submitter
from .allowance import check_spending
from .api_keys import ApiKey
from .batch_status_view import BatchStatusView
from .batch_watcher import EVENTS, STREAMED, latest, progress
from .description import BatchId, OfReview, component, in_forms
from .etag import tagged
from .lists import ListPage, ListPart
from .pages import Pages
from .result_forms import NEXT_PAGE, RESULT_TYPES, ResultForm, link, page_text, result_pieces
from .streams import Stream
from .submission_body import EXAMPLE, EXAMPLE_LINES, NDJSON, Dollars, Submission, read_submission
from .submission_terms import SUBMITTED, submit_terms

router = APIRouter(prefix="/v1/batches", tags=["batches"], responses=problems.KEYED)
batch_router = APIRouter(prefix="/v1/batches/{batch_id}", tags=["batches"], responses=problems.KEYED | problems.UNKNOWN)
overview_router = APIRouter(prefix="/v1", tags=["overview"], responses=problems.KEYED)

MOST_LISTED = 500
MOST_WATCHED = 100
MOST_RESULTS = 1_000  # in a page
MOST_HOURS = 24 * 7

Place = Annotated[int, Field(ge=0, lt=2**31)]  # the ledger's limit


class NewBudget(BaseModel):
    """A new budget, for a batch that has a budget already."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"max_cost": 20}]})

    max_cost: Dollars | None = None


class Again(NewBudget):
    """The items to retry."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"kinds": ["timeout"]}]})

    kinds: list[ErrorKind] | None = None  # None: any kind of error
    cancelled: StrictBool = False  # also the cancelled items


class NewPriority(BaseModel):
    """The rank of a batch among the batches that wait for the same workers."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"priority": "high"}]})

    priority: Priority


class About(BaseModel):
    """The running version, and the key of the request."""

    version: str
    key: ApiKey
    flower_url: str | None = Field(description="The address of Flower; its password is for operators only.")


class TrafficPart(ListPart):
    """The number of past hours to count, and the part of the list to return."""

    hours: int = Field(default=24, ge=1, le=MOST_HOURS)


@router.post(
    "",
    status_code=HTTPStatus.CREATED,
    summary="Submit a batch: one JSON object, or NDJSON with the terms first, then one item per line",
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {
                "application/json": {"schema": component(Submission), "example": EXAMPLE},
                NDJSON: {"schema": {"type": "string"}, "example": EXAMPLE_LINES},
            },
        }
    },
    responses=SUBMITTED | problems.CONFLICT | problems.OF_MONEY | problems.OF_BODIES | problems.OF_TYPES,
)
async def submit_batch(
    request: Request,
    response: Response,
    client: Of,
    key: Submitter,
    idempotency_key: Annotated[str | None, Header(max_length=200)] = None,
) -> BatchStatusView:
    """A repeated `Idempotency-Key` returns the first batch, or 409 if the content differs."""
    async with read_submission(request, client.settings) as (terms, items):
        submitted = partial(submit_terms, client, key, terms, items, response, idempotency_key=idempotency_key)
        return await run_in_threadpool(submitted)


@router.get(
    "",
    summary="The latest batches, newest first; optionally before a batch, or only batches of no review",
    responses=problems.UNKNOWN,
)
def list_batches(
    client: Of,
    _: Reader,
    limit: Annotated[int, Query(ge=1, le=MOST_LISTED)] = 20,
    after: Annotated[
        str | None, Query(max_length=36, description="A batch's id, or its beginning: only batches before it.")
    ] = None,
    review: OfReview = None,
) -> ListPage[BatchStatusView, str]:
    with ledger_errors(), client.snapshot() as connection:
        behind = None if after is None else find_batch(connection, after)
        views = read_views(connection, limit=limit + 1, of_no_review=review is not None, after=behind)
    return ListPage.of([BatchStatusView.of(view) for view in views], limit, lambda status: status.batch.id)


@batch_router.get("", summary="The state of a batch")
def get_batch(batch_id: BatchId, client: Of, _: Reader) -> BatchStatusView:
    return BatchStatusView.of(client.batch(batch_id).status())


@batch_router.get(
    "/events",
    summary="The state of a batch, as server-sent events until its end",
    response_class=StreamingResponse,
    responses={HTTPStatus.OK: {"content": {EVENTS: {}}}},
)
async def follow_batch(batch_id: BatchId, request: Request, client: Of, key: Reader) -> Stream:
    batch = await run_in_threadpool(client.batch, batch_id)
    updates = progress(request.app.state.watcher, UUID(batch.id))
    return Stream(updates, of=request.app.state.streams, key=key, media_type=EVENTS, headers=STREAMED)


@batch_router.get(
    "/results",
    summary="Every item with its result, in order, as JSON, NDJSON or a table; with a limit, page by page",
    response_class=StreamingResponse,
    responses={HTTPStatus.OK: in_forms(RESULT_TYPES, ListPage[ItemResult, int]) | {"headers": NEXT_PAGE}}
    | problems.UNCHANGED,
    dependencies=[Depends(tagged)],
)
async def get_results(
    batch_id: BatchId,
    request: Request,
    client: Of,
    key: Reader,
    form: ResultForm = ResultForm.JSON,
    after: Annotated[Place | None, Query(description="The place of an item: only items after it.")] = None,
    limit: Annotated[int | None, Query(ge=1, le=MOST_RESULTS, description="None: all, as a stream.")] = None,
    label: Annotated[str | None, Query(max_length=200, description="Only items with this label.")] = None,
) -> Response:
    """Every page but the last has a `Link` to the next page. A page may have fewer items than its limit.

    While a batch runs, a later page may show a newer state than an earlier page.
    """
    batch, media_type = await run_in_threadpool(client.batch, batch_id), RESULT_TYPES[form]
    pages: Pages = request.app.state.pages
    places = None if label is None else list(await run_in_threadpool(_labelled, batch, " ".join(label.split())))
    if limit is None:
        pieces = await result_pieces(pages, batch, form, after=after, places=places)
        return Stream(pieces, of=request.app.state.streams, key=key, media_type=media_type)
    page = await pages.page(batch, after=after, limit=limit, places=places)
    headers = {} if page.next_after is None else {"Link": link(request.url, page.next_after)}
    return Response(await run_in_threadpool(page_text, page, form), media_type=media_type, headers=headers)


@batch_router.get("/summary", summary="The batch in numbers, once it is completed")
def get_summary(batch_id: BatchId, client: Of, _: Reader) -> Summary:
    written = client.batch(batch_id).summary()
    if written is None:
        raise HTTPException(HTTPStatus.NOT_FOUND, f"batch {batch_id} has no summary yet: it is not completed")
    return written


@batch_router.post("/pause", summary="Pause a batch: no further item begins", responses=problems.CONFLICT)
def pause_batch(batch_id: BatchId, client: Of, _: Operator) -> BatchStatusView:
    return _changed(client.batch(batch_id), Batch.pause)


@batch_router.post(
    "/resume", summary="Resume a paused batch", responses=problems.CONFLICT | problems.OF_MONEY | problems.OF_BODIES
)
def resume_batch(batch_id: BatchId, client: Of, key: Operator, budget: NewBudget | None = None) -> BatchStatusView:
    batch = client.batch(batch_id)
    if budget is not None and budget.max_cost is not None:
        check_spending(key, batch)
    return _changed(batch, lambda batch: batch.resume(None if budget is None else budget.max_cost))


@batch_router.post("/cancel", summary="Cancel a batch; results are kept", responses=problems.CONFLICT)
def cancel_batch(batch_id: BatchId, client: Of, _: Operator) -> BatchStatusView:
    return _changed(client.batch(batch_id), Batch.cancel)


@batch_router.post(
    "/retry",
    summary="Retry the failed items in a new round",
    responses=problems.CONFLICT | problems.OF_MONEY | problems.OF_BODIES,
)
def retry_batch(batch_id: BatchId, client: Of, key: Operator, again: Again | None = None) -> BatchStatusView:
    batch, terms = client.batch(batch_id), again or Again()
    check_spending(key, batch)
    return _changed(batch, partial(Batch.retry, kinds=terms.kinds, cancelled=terms.cancelled, max_cost=terms.max_cost))


@batch_router.put(
    "/priority",
    summary="Change a batch's priority; all workers follow within seconds",
    responses=problems.CONFLICT | problems.OF_BODIES,
)
def set_priority(batch_id: BatchId, wanted: NewPriority, client: Of, _: Operator) -> BatchStatusView:
    return _changed(client.batch(batch_id), lambda batch: batch.set_priority(wanted.priority))


@overview_router.get("/about", summary="The running version, and the key with its permissions")
def get_about(client: Of, key: Reader) -> About:
    flower = client.settings.flower_url or (client.settings.stack and client.settings.stack.flower_url)
    return About(version=version("tamis"), key=key, flower_url=flower and shown_url(flower))


@overview_router.get(
    "/events",
    summary="The latest batches as server-sent events, at every change; optionally only batches of no review",
    response_class=StreamingResponse,
    responses={HTTPStatus.OK: {"content": {EVENTS: {}}}},
)
async def follow_batches(
    request: Request, key: Reader, limit: Annotated[int, Query(ge=1, le=MOST_WATCHED)] = 20, review: OfReview = None
) -> Stream:
    updates = latest(request.app.state.watcher, limit, of_no_review=review is not None)
    return Stream(updates, of=request.app.state.streams, key=key, media_type=EVENTS, headers=STREAMED)


@overview_router.get("/service-traffic", summary="Single calls of services, counted by service and hour")
def get_service_traffic(
    client: Of, _: Reader, wanted: Annotated[TrafficPart, Query()]
) -> ListPage[ServiceTraffic, int]:
    return wanted.of(client.service_traffic(wanted.hours))


def _changed(batch: Batch, change: Callable[[Batch], object]) -> BatchStatusView:
    change(batch)
    return BatchStatusView.of(batch.status())


def _labelled(batch: Batch, label: str) -> Sequence[int]:
    with batch.session.reading() as connection:
        return read_labelled(connection, batch.uuid, label)
