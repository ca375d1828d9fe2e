"""The report of a batch or of a review, as an answer: written aside, and sent as a stream."""

from functools import partial
from http import HTTPStatus
from typing import Any

from fastapi import APIRouter, Depends, Request, Response
from fastapi.concurrency import run_in_threadpool

from tamis_producer.client.client import Client
from tamis_producer.gateway import problems
from tamis_producer.gateway.access import Of, Reader
from tamis_producer.gateway.api_keys import ApiKey
from tamis_producer.gateway.description import BatchId
from tamis_producer.gateway.etag import tagged
from tamis_producer.gateway.extension import check_open
from tamis_producer.gateway.streams import Stream

from ..report import ReportForm, write_report
from .written import ReportWriters

router = APIRouter(prefix="/v1/batches", tags=["batches"], responses=problems.KEYED)

REPORT_TYPES = {
    ReportForm.HTML: "text/html",
    ReportForm.SVG: "image/svg+xml",
    ReportForm.PNG: "image/png",
    ReportForm.MD: "text/markdown",
    ReportForm.JSON: "application/json",
}
REPORTS: dict[int | str, dict[str, Any]] = {
    HTTPStatus.OK.value: {"content": {kind: {} for kind in REPORT_TYPES.values()}}
}


async def report_stream(request: Request, client: Client, key: ApiKey, subject_id: str, form: ReportForm) -> Stream:
    """Return the report of the batch or review with this id. Raises as `write_report` does."""
    writers: ReportWriters = request.app.state.writers
    written = await writers.written(partial(write_report, client.engine, subject_id, form))
    # Its scripts run, but not as part of this site.
    sandbox = {"Content-Security-Policy": "sandbox allow-scripts allow-downloads"}
    return Stream(written, of=request.app.state.streams, key=key, media_type=REPORT_TYPES[form], headers=sandbox)


@router.get(
    "/{batch_id}/report",
    summary="The report: one page, its flow as SVG or PNG, its text as Markdown, or its figures as JSON",
    response_class=Response,
    responses=REPORTS | problems.UNCHANGED | problems.UNKNOWN,
    dependencies=[Depends(check_open), Depends(tagged)],
)
async def get_report(
    batch_id: BatchId, request: Request, client: Of, key: Reader, form: ReportForm = ReportForm.HTML
) -> Stream:
    batch = await run_in_threadpool(client.batch, batch_id)
    return await report_stream(request, client, key, batch.id, form)
