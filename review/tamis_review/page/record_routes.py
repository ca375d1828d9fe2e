"""Routes of records: the table of decisions as people read it, one record's whole story, and the export of all."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from http import HTTPStatus
from typing import Annotated, Literal, TextIO
from uuid import UUID

from fastapi import APIRouter, Depends, HTTPException, Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import PlainTextResponse, Response, StreamingResponse
from pydantic import Field

from tamis_producer.client.batch import Batch
from tamis_producer.gateway import problems
from tamis_producer.gateway.access import Of, Reader
from tamis_producer.gateway.description import BatchId, Index
from tamis_producer.gateway.etag import tagged
from tamis_producer.gateway.extension import check_open
from tamis_producer.gateway.streams import Stream
from tamis_review.records import explain
from tamis_review.remarks import labelled_places
from tamis_schemas import InvalidParameters
from tamis_schemas.batches.wire import SHORT_ID

from ..decisions.decided_records import decided_records
from ..explanation import Explanation
from ..explanation.words import as_text
from ..intake.recognise import Format
from ..intake.writing import WRITERS, format_to_write
from ..report.table import read_table
from .sight import check_record_open, sight_of
from .written import ReportWriters

router = APIRouter(prefix="/v1/batches/{batch_id}", tags=["batches"], responses=problems.KEYED | problems.UNKNOWN)

MOST_PLACES = 500

Place = Annotated[int, Field(ge=0, lt=2**31)]  # as the ledger counts


@router.get(
    "/records",
    summary="Every record as the table of the report shows it: outcome, reason, verdicts, quotes and their places",
    response_class=StreamingResponse,
    responses=problems.UNCHANGED | {200: {"content": {"application/json": {}}}},
    dependencies=[Depends(tagged)],
)
async def get_records(
    request: Request,
    batch_id: BatchId,
    client: Of,
    key: Reader,
    index: Annotated[list[Place] | None, Query(max_length=MOST_PLACES, description="These items alone.")] = None,
) -> Stream:
    batch = await run_in_threadpool(client.batch, batch_id)
    found, pages = UUID(batch.id), request.app.state.pages
    sight = await run_in_threadpool(sight_of, client, batch.id, key)
    table = await run_in_threadpool(read_table, client.engine, found, whole=index is None)
    table = replace(table, hidden=sight.hidden)
    places = [] if table.left_out else None if index is None else sorted({*index})

    async def told() -> AsyncGenerator[str | bytes]:
        yield table.begins
        async with aclosing(pages.pieces(found, table.rows, places=places)) as pieces:
            async for piece in pieces:
                yield piece
        yield table.ends

    return Stream(told(), of=request.app.state.streams, key=key, media_type="application/json")


@router.get(
    "/records/{index}/explanation",
    summary="One record's whole story: prompts as sent, answers, rules and formulas, human decisions, and the bill",
    response_model=Explanation,
    responses={HTTPStatus.OK: {"content": {"text/plain": {}}}},
    dependencies=[Depends(check_record_open)],
)
def explain_record(
    batch_id: BatchId,
    index: Index,
    client: Of,
    _: Reader,
    form: Annotated[Literal["json", "text"], Query(description="text: as people read it.")] = "json",
) -> Explanation | Response:
    batch = client.batch(batch_id)
    try:
        story = explain(batch, index)
    except InvalidParameters as error:
        raise HTTPException(HTTPStatus.NOT_FOUND, str(error)) from error
    return PlainTextResponse(as_text(story)) if form == "text" else story


# Format -> media type, and how a file's name ends.
SENT_AS = {
    Format.RIS: ("application/x-research-info-systems", "ris"),
    Format.NBIB: ("application/nbib", "nbib"),
    Format.BIBTEX: ("application/x-bibtex", "bib"),
    Format.ENDNOTE_XML: ("application/xml", "xml"),
    Format.DELIMITED: ("text/csv", "csv"),
    Format.TSV: ("text/tab-separated-values", "tsv"),
    Format.JSONL: ("application/x-ndjson", "jsonl"),
}


class _Export:
    """One export; its format is known once it is written."""

    format: Format

    def __init__(self, batch: Batch, wanted: str | None, only: list[str] | None, label: str | None) -> None:
        self._batch, self._wanted, self._only, self._label = batch, wanted, only, label

    def write(self, stream: TextIO) -> None:
        """Write all of it. Raises `InvalidRequest` where there is no such record, or no format to write."""
        places = None if self._label is None else labelled_places(self._batch, " ".join(self._label.split()))
        with decided_records(self._batch.id, self._batch.results(places), self._only) as records:
            self.format = format_to_write(records, "format", self._wanted)
            WRITERS[self.format](records, stream)


@router.get(
    "/export",
    summary="The records with their decisions, as reference managers read them: every field of the file they came from",
    response_class=Response,
    responses={200: {"content": {media_type: {} for media_type, _ in SENT_AS.values()}}},
    dependencies=[Depends(check_open)],
)
async def export_records(
    batch_id: BatchId,
    request: Request,
    client: Of,
    key: Reader,
    wanted: Annotated[
        str | None,
        Query(
            alias="format",
            max_length=50,
            description="ris, nbib, bibtex, endnote, csv, tsv or jsonl; left out: that of the screened files.",
        ),
    ] = None,
    only: Annotated[list[str] | None, Query(max_length=20, description="Records of this decision alone.")] = None,
    label: Annotated[str | None, Query(max_length=200, description="Records with this label alone.")] = None,
) -> Stream:
    batch = await run_in_threadpool(client.batch, batch_id)
    writers: ReportWriters = request.app.state.writers
    exported = _Export(batch, wanted, only, label)
    written = await writers.written(exported.write)
    media_type, ending = SENT_AS[exported.format]
    named = {"Content-Disposition": f'attachment; filename="decided-{batch.id[:SHORT_ID]}.{ending}"'}
    return Stream(written, of=request.app.state.streams, key=key, media_type=media_type, headers=named)
