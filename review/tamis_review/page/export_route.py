"""The route of the export: the records in a format of reference managers, each with its decision."""

from typing import Annotated, TextIO

from fastapi import APIRouter, Depends, Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import Response

from tamis_producer.client.batch import Batch
from tamis_producer.gateway import problems
from tamis_producer.gateway.access import Of, Reader
from tamis_producer.gateway.description import BatchId
from tamis_producer.gateway.extension import check_open
from tamis_producer.gateway.streams import Stream
from tamis_review.remarks import labelled_places
from tamis_schemas.batches.wire import SHORT_ID

from ..decisions.decided_records import decided_records
from ..intake.recognise import Format
from ..intake.writing import WRITERS, format_to_write
from .written import ReportWriters

router = APIRouter(prefix="/v1/batches/{batch_id}", tags=["batches"], responses=problems.KEYED | problems.UNKNOWN)

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
