"""Routes of batches: submit, list, look, read, control."""

import tempfile
from collections.abc import Iterator
from http import HTTPStatus
from itertools import islice
from typing import Annotated, Literal, TextIO

from fastapi import APIRouter, Depends, Header, HTTPException, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, ConfigDict

from tamis_schemas import ErrorKind, Summary

from ..api_keys import ApiKey, Scope
from ..batch import Batch
from ..client import Client
from ..report import ReportForm, write_report
from ..results_file import csv_lines
from . import problems
from .access import client_of, holder_of
from .description import BatchId, component
from .progress import EVENTS, STREAMED, progress
from .standing import Standing
from .submission import EXAMPLE, EXAMPLE_LINES, NDJSON, Dollars, Submission, read_submission

router = APIRouter(prefix="/v1/batches", tags=["batches"], responses=problems.KEYED)

MOST_LISTED = 500
CSV = "text/csv"
PIECE = 65_536  # characters of a file that are sent at once
LINES = 200  # likewise: each piece is a thread's turn
REPORT_TYPES = {
    ReportForm.HTML: "text/html",
    ReportForm.SVG: "image/svg+xml",
    ReportForm.MD: "text/markdown",
    ReportForm.JSON: "application/json",
}

Reader = Annotated[ApiKey, Depends(holder_of(Scope.READ))]
Submitter = Annotated[ApiKey, Depends(holder_of(Scope.SUBMIT))]
Operator = Annotated[ApiKey, Depends(holder_of(Scope.CONTROL))]
Of = Annotated[Client, Depends(client_of)]


class Budget(BaseModel):
    """A new budget, of a batch that has one."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"max_cost": 20}]})

    max_cost: Dollars | None = None


class Again(Budget):
    """Which items are asked about again."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"kinds": ["timeout"]}]})

    kinds: list[ErrorKind] | None = None  # None: whatever they failed with
    cancelled: bool = False  # with the items that were cancelled


@router.post(
    "",
    status_code=HTTPStatus.CREATED,
    summary="Submit a batch: one JSON object, or NDJSON whose first line holds all but the items",
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {
                "application/json": {"schema": component(Submission), "example": EXAMPLE},
                NDJSON: {"schema": {"type": "string"}, "example": EXAMPLE_LINES},
            },
        }
    },
    responses=problems.CONFLICT | problems.OF_BODIES | problems.told(HTTPStatus.UNSUPPORTED_MEDIA_TYPE),
)
async def submit(
    request: Request,
    response: Response,
    client: Of,
    _: Submitter,
    idempotency_key: Annotated[str | None, Header(max_length=200)] = None,
) -> Standing:
    """The same `Idempotency-Key` again gives the first batch, and 409 where the content differs."""
    given = await read_submission(request, largest=client.settings.max_file_bytes)

    def submitted() -> Standing:
        batch = client.submit(
            given.operation,
            given.items,
            model=given.model,
            label=given.label,
            use_cache=given.use_cache,
            priority=given.priority,
            max_cost=given.max_cost,
            steering=given.steering,
            idempotency_key=idempotency_key,
        )
        return Standing.of(batch.status())

    standing = await run_in_threadpool(submitted)
    response.headers["Location"] = f"/v1/batches/{standing.batch.id}"
    return standing


@router.get("", summary="The latest batches, newest first")
def batches(client: Of, _: Reader, limit: Annotated[int, Query(ge=1, le=MOST_LISTED)] = 20) -> list[Standing]:
    return [Standing.of(view) for view in client.batches(limit)]


@router.get("/{batch_id}", summary="How a batch stands", responses=problems.UNKNOWN)
def batch(batch_id: BatchId, client: Of, _: Reader) -> Standing:
    return Standing.of(client.batch(batch_id).status())


@router.get(
    "/{batch_id}/events",
    summary="How a batch stands, as server-sent events until its end",
    response_class=StreamingResponse,
    responses={HTTPStatus.OK: {"content": {EVENTS: {}}}} | problems.UNKNOWN,
)
async def events(batch_id: BatchId, request: Request, client: Of, _: Reader) -> StreamingResponse:
    told = progress(await run_in_threadpool(client.batch, batch_id), request.app.state.stops)
    return StreamingResponse(told, media_type=EVENTS, headers=STREAMED)


@router.get(
    "/{batch_id}/results",
    summary="Every item with its result, in order, as NDJSON or as a table",
    response_class=StreamingResponse,
    responses={HTTPStatus.OK: {"content": {NDJSON: {}, CSV: {}}}} | problems.UNKNOWN,
)
def results(batch_id: BatchId, client: Of, _: Reader, form: Literal["ndjson", "csv"] = "ndjson") -> StreamingResponse:
    found = client.batch(batch_id)
    if form == "csv":
        return StreamingResponse(_table(found), media_type=CSV)
    return StreamingResponse(_lines(found), media_type=NDJSON)


@router.get("/{batch_id}/summary", summary="The batch in numbers, once it is completed", responses=problems.UNKNOWN)
def summary(batch_id: BatchId, client: Of, _: Reader) -> Summary:
    found = client.batch(batch_id).summary()
    if found is None:
        raise HTTPException(HTTPStatus.NOT_FOUND, f"batch {batch_id} has no summary yet: it is not completed")
    return found


@router.get(
    "/{batch_id}/report",
    summary="The report: one page, its flow as SVG, its text as Markdown, or its figures as JSON",
    response_class=Response,
    responses={HTTPStatus.OK: {"content": {kind: {} for kind in REPORT_TYPES.values()}}} | problems.UNKNOWN,
)
def report(batch_id: BatchId, client: Of, _: Reader, form: ReportForm = ReportForm.HTML) -> Response:
    whole = client.batch(batch_id).id
    written = tempfile.TemporaryFile("w+", encoding="utf-8", newline="")  # noqa: SIM115 - closed by `_pieces`
    try:
        write_report(client.engine, whole, form, written)
    except BaseException:
        written.close()
        raise
    # Its scripts run, but not as part of this site.
    sandbox = {"Content-Security-Policy": "sandbox allow-scripts allow-downloads"}
    return StreamingResponse(_pieces(written), media_type=REPORT_TYPES[form], headers=sandbox)


@router.post("/{batch_id}/pause", summary="Begin no further item", responses=problems.UNKNOWN | problems.CONFLICT)
def pause(batch_id: BatchId, client: Of, _: Operator) -> Standing:
    found = client.batch(batch_id)
    found.pause()
    return Standing.of(found.status())


@router.post(
    "/{batch_id}/resume",
    summary="Go on where it was paused",
    responses=problems.UNKNOWN | problems.CONFLICT | problems.OF_BODIES,
)
def resume(batch_id: BatchId, client: Of, _: Operator, budget: Budget | None = None) -> Standing:
    found = client.batch(batch_id)
    found.resume(None if budget is None else budget.max_cost)
    return Standing.of(found.status())


@router.post("/{batch_id}/cancel", summary="End it; results are kept", responses=problems.UNKNOWN | problems.CONFLICT)
def cancel(batch_id: BatchId, client: Of, _: Operator) -> Standing:
    found = client.batch(batch_id)
    found.cancel()
    return Standing.of(found.status())


@router.post(
    "/{batch_id}/retry",
    summary="Ask about the failed items again, in a new round",
    responses=problems.UNKNOWN | problems.CONFLICT | problems.OF_BODIES,
)
def retry(batch_id: BatchId, client: Of, _: Operator, again: Again | None = None) -> Standing:
    found, asked = client.batch(batch_id), again or Again()
    found.retry(asked.kinds, cancelled=asked.cancelled, max_cost=asked.max_cost)
    return Standing.of(found.status())


def _lines(batch: Batch) -> Iterator[str]:
    yield from _together(row.model_dump_json() + "\n" for row in batch.results())


def _table(batch: Batch) -> Iterator[str]:
    yield from _together(csv_lines(batch.results()))


def _together(lines: Iterator[str]) -> Iterator[str]:
    while piece := "".join(islice(lines, LINES)):
        yield piece


def _pieces(written: TextIO) -> Iterator[str]:
    with written:
        written.seek(0)
        while piece := written.read(PIECE):
            yield piece
