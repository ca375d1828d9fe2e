"""Routes for people who read records.

They are for the screening mode, the next records, the work list, the table of decisions, a record's history and the
export.
"""

import json
from http import HTTPStatus
from itertools import islice
from typing import Annotated, Literal, TextIO

from fastapi import APIRouter, Depends, HTTPException, Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import PlainTextResponse, Response, StreamingResponse
from pydantic import BaseModel, ConfigDict, Field

from tamis_producer.gateway import problems
from tamis_producer.gateway.access import Of, Operator, Reader
from tamis_producer.gateway.api_keys import Scope
from tamis_producer.gateway.description import BatchId, Index
from tamis_producer.gateway.etag import tagged
from tamis_producer.gateway.result_forms import framed
from tamis_producer.gateway.streams import Stream
from tamis_review import reading
from tamis_review.records import explain
from tamis_review.remarks import labelled_places
from tamis_schemas import InvalidParameters, NextRecords, ReadingBy, ScreeningMode, ScreeningModeSet
from tamis_schemas.batches.wire import SHORT_ID
from tamis_schemas.records.random_order import LARGEST_SEED

from ..decisions.decided_records import decided_records
from ..explanation import Explanation
from ..explanation.words import as_text
from ..intake.recognise import Format
from ..intake.writing import WRITERS, dropped_fields, format_to_write
from ..order.exploration import EXPLORE
from ..order.next_records import LONGEST_NAME
from ..order.next_records import MOST as MOST_NEXT
from ..order.next_records import USUAL as USUAL_NEXT
from ..report.table import DecisionRows, read_table
from ..report.team import Team
from ..report.work_filter import WorkQuery
from ..report.work_list import WorkList
from .written import written

PREFIX, RESPONSES = "/v1/batches/{batch_id}", problems.KEYED | problems.UNKNOWN
work_router = APIRouter(prefix=PREFIX, tags=["human decisions"], responses=RESPONSES)
record_router = APIRouter(prefix=PREFIX, tags=["batches"], responses=RESPONSES)


class NextPart(BaseModel):
    """The query for the next records that a person should read."""

    model_config = ConfigDict(frozen=True)

    n: int = Field(default=USUAL_NEXT, ge=1, le=MOST_NEXT)
    reviewer: str | None = Field(
        default=None,
        min_length=1,
        max_length=LONGEST_NAME,
        description="If people read in pairs: only records that this person has not decided on.",
    )
    seed: int = Field(default=0, ge=0, le=LARGEST_SEED, description="The random seed of the order.")
    explore: float = Field(default=EXPLORE, ge=0, le=1, description="The share of places that are drawn at random.")
    fresh: bool = Field(default=False, description="Wait until the order includes every decision.")
    by: ReadingBy = Field(
        default=ReadingBy.ORDER, description="disagreement: records on which the models of a panel differ come first."
    )


class NewMode(BaseModel):
    """The screening mode to be set."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"mode": "pair"}]})

    mode: ScreeningMode


@work_router.get("/mode", summary="Get the screening mode of a batch, and who set it when")
def get_screening_mode(batch_id: BatchId, client: Of, _: Reader) -> ScreeningModeSet:
    return reading.get_screening_mode(client.batch(batch_id))


@work_router.put(
    "/mode",
    summary="Set the screening mode: openly, in pairs, beside the model, or an audit of its exclusions",
    responses=problems.OF_BODIES,
)
def set_screening_mode(batch_id: BatchId, wanted: NewMode, client: Of, key: Operator) -> ScreeningModeSet:
    return reading.set_screening_mode(client.batch(batch_id), wanted.mode, set_by=key.label)


@work_router.get("/team", summary="Get how far people have read a batch, without their decisions")
def get_team(batch_id: BatchId, client: Of, key: Reader) -> Team:
    """Return how many records people have read, and the work left.

    A key with the scope `control` also gets each person's pace.
    """
    return reading.read_team(client.batch(batch_id), people=Scope.CONTROL in key.scopes)


@work_router.get("/next", summary="List the records that a person should read next, each with the reason for its place")
def get_next_records(batch_id: BatchId, client: Of, _: Reader, wanted: Annotated[NextPart, Query()]) -> NextRecords:
    """Return the next records of the stored order. `current` says whether the order was computed from all decisions.

    If people read blind, the order is by record number.
    """
    return reading.next_records(client.batch(batch_id), **dict(wanted))


@work_router.get(
    "/work",
    summary="List the records that the key's holder may read, with their decisions: filtered, in order, in pages",
)
def get_work(batch_id: BatchId, client: Of, key: Reader, query: Annotated[WorkQuery, Query()]) -> WorkList:
    """Return a page of the work list. A record whose decisions are hidden has only its text; decision filters skip it.

    In the mode `model_audited`, the list is the sample of one audit, in the order drawn. The audit is the newest with
    unjudged records or, if every audit is judged, the newest of all.
    """
    return reading.list_work(client.batch(batch_id), query, reviewer=key.label)


MOST_PLACES = 500

Place = Annotated[int, Field(ge=0, lt=2**31)]  # the ledger's range


@record_router.get(
    "/records",
    summary="List every record as in the report's table: outcome, reason, verdicts, quotes and their places",
    response_class=StreamingResponse,
    responses=problems.UNCHANGED | {200: {"model": DecisionRows}},
    dependencies=[Depends(tagged)],
)
async def get_records(
    request: Request,
    batch_id: BatchId,
    client: Of,
    key: Reader,
    index: Annotated[list[Place] | None, Query(max_length=MOST_PLACES, description="Only these items.")] = None,
) -> Stream:
    batch = await run_in_threadpool(client.batch, batch_id)
    table = await run_in_threadpool(read_table, batch, whole=index is None)
    places = [] if table.left_out else None if index is None else sorted({*index})
    pieces = await request.app.state.pages.pieces(batch, table.rows, places=places, safe=True)
    whole = framed(pieces, table.begins, table.ends)
    return Stream(whole, of=request.app.state.streams, key=key, media_type="application/json")


@record_router.get(
    "/records/{index}/explanation",
    summary="Explain one record: prompts as sent, answers, rules and formulas, human decisions, and the cost",
    response_model=Explanation,
    responses={HTTPStatus.OK: {"content": {"text/plain": {}}}},
)
def explain_record(
    batch_id: BatchId,
    index: Index,
    client: Of,
    _: Reader,
    form: Annotated[Literal["json", "text"], Query(description="text: for people.")] = "json",
) -> Explanation | Response:
    batch = client.batch(batch_id)
    try:
        story = explain(batch, index)
    except InvalidParameters as error:
        raise HTTPException(HTTPStatus.NOT_FOUND, str(error)) from error
    return PlainTextResponse(as_text(story)) if form == "text" else story


FIELDS_NAMED, LONGEST_NAMED = 20, 100  # in a header
# Format -> media type, and file suffix.
SENT_AS = {
    Format.RIS: ("application/x-research-info-systems", "ris"),
    Format.NBIB: ("application/nbib", "nbib"),
    Format.BIBTEX: ("application/x-bibtex", "bib"),
    Format.ENDNOTE_XML: ("application/xml", "xml"),
    Format.DELIMITED: ("text/csv", "csv"),
    Format.TSV: ("text/tab-separated-values", "tsv"),
    Format.JSONL: ("application/x-ndjson", "jsonl"),
}


@record_router.get(
    "/export",
    summary="Export the records with their decisions and all fields of their files, for reference managers",
    description="The header `Tamis-Dropped-Fields` has the fields without a place in the format: name -> records.",
    response_class=Response,
    responses={200: {"content": {media_type: {} for media_type, _ in SENT_AS.values()}}},
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
            description="ris, nbib, bibtex, endnote, csv, tsv or jsonl. Default: the format of the screened files.",
        ),
    ] = None,
    only: Annotated[list[str] | None, Query(max_length=20, description="Only records with this decision.")] = None,
    label: Annotated[str | None, Query(max_length=200, description="Only records with this label.")] = None,
) -> Stream:
    batch = await run_in_threadpool(client.batch, batch_id)
    form, dropped = Format.RIS, dict[str, int]()

    def write(stream: TextIO) -> None:
        nonlocal form
        places = None if label is None else labelled_places(batch, " ".join(label.split()))
        with decided_records(batch.id, batch.results(places), only) as records:
            form = format_to_write(records, "format", wanted)
            WRITERS[form](records, stream)
            dropped.update(dropped_fields(records, form))

    writing = await written(write, request.app.state.writers)
    media_type, ending = SENT_AS[form]
    named = {"Content-Disposition": f'attachment; filename="decided-{batch.id[:SHORT_ID]}.{ending}"'}
    if dropped:
        first = islice(dropped.items(), FIELDS_NAMED)
        named["Tamis-Dropped-Fields"] = json.dumps({name[:LONGEST_NAMED]: n for name, n in first})
    return Stream(writing, of=request.app.state.streams, key=key, media_type=media_type, headers=named)
