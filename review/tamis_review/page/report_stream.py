"""The report of a batch or of a review, as an answer: written aside, and sent as a stream."""

from functools import partial
from http import HTTPStatus
from typing import Any

from fastapi import Request

from tamis_producer.client.client import Client
from tamis_producer.gateway.api_keys import ApiKey
from tamis_producer.gateway.streams import Stream
from tamis_producer.gateway.written import ReportWriters

from ..report import ReportForm, write_report

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
