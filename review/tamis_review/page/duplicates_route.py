"""The route of duplicates: what is read of some files, and which of their records are copies, or may be."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from http import HTTPStatus
from io import StringIO
from typing import Annotated, Any

import anyio
from anyio import to_thread
from fastapi import APIRouter, Query, Request
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict, Field, StrictBool
from starlette.datastructures import UploadFile

from tamis_producer.client.client import Client
from tamis_producer.gateway import problems
from tamis_producer.gateway.access import Of, Submitter
from tamis_producer.gateway.description import component
from tamis_producer.gateway.result_forms import TableForm
from tamis_schemas import SourceKind
from tamis_schemas.values.frozen import Frozen

from ..filter.duplicate_pairs import PairKind, PlacedRecord, find_pairs, write_pairs
from ..intake.sourced_records import FileRead, SourceRead
from .files import NOTES_TOLD, FileNote, Sources, names_of, stated_of
from .upload import MEDIA_TYPE, MOST_FILES, on_disk, uploaded

FIRST = 5  # records: enough to see that it is the wrong file
LONGEST_SHOWN = 300  # characters of a value


class FirstRecord(Frozen):
    """The fields by which people know a record."""

    title: str | None
    authors: str | None
    year: str | None
    journal: str | None


class FilePreview(Frozen):
    """A file of some source, and what was read of it."""

    file: str
    source: str = Field(description="As stated, else what the file tells, else the file's name.")
    kind: SourceKind
    format: str
    encoding: str
    records: int
    completes: str | None = Field(description="The file of the same source whose records it completes.")
    replaced: int = Field(description="Bytes that are not of the encoding, and were read as cp1252.")
    skipped: int = Field(description="Lines and the like that belong to no record.")
    lost: int = Field(description="Records that could not be read.")
    notes: tuple[FileNote, ...] = Field(description=f"The first {NOTES_TOLD} of these.")
    first: tuple[FirstRecord, ...] = Field(description=f"The first {FIRST} records.")


def previews_of(sources: Sequence[SourceRead]) -> tuple[FilePreview, ...]:
    """Every file of the sources, in their order."""
    return tuple(_preview(source, file) for source in sources for file in source.files)


def _preview(source: SourceRead, file: FileRead) -> FilePreview:
    intake = file.intake
    return FilePreview(
        file=file.name,
        source=source.source.name,
        kind=source.source.kind,
        format=intake.format.value,
        encoding=intake.encoding,
        records=len(intake.records),
        completes=file.completes,
        replaced=len(intake.replaced),
        skipped=intake.skipped,
        lost=intake.lost,
        notes=tuple(FileNote(file=file.name, **asdict(note)) for note in intake.notes[:NOTES_TOLD]),
        first=tuple(_first(record) for record in intake.records[:FIRST]),
    )


def _first(record: Mapping[str, Any]) -> FirstRecord:
    return FirstRecord(**{name: _shown(record.get(name)) for name in FirstRecord.model_fields})


def _shown(value: object) -> str | None:
    text = "; ".join(map(str, value)) if isinstance(value, list) else "" if value is None else str(value)
    return text[:LONGEST_SHOWN] or None


router = APIRouter(prefix="/v1", tags=["files"], responses=problems.KEYED | problems.OF_BODIES)

AT_ONCE = 2  # for all callers: each has the records of its files in memory, and compares them


class DuplicateTerms(BaseModel):
    """How files are to be read."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{}]})

    strict: StrictBool = Field(default=False, description="A record that cannot be read is an error.")
    sources: Sources = Field(default_factory=list)


class DuplicatesForm(BaseModel):
    """Files, and how to read them."""

    terms: DuplicateTerms
    file: Annotated[list[bytes], Field(min_length=1, max_length=MOST_FILES)]


class RecordFacts(Frozen):
    """The fields that tell a record from others, and where it stands."""

    file: str
    index: int  # place in its file, from 0
    line: int | None
    id: str
    title: str | None
    year: str | None
    journal: str | None
    doi: str | None


class PairView(Frozen):
    """Two records that are one, or may be."""

    kind: PairKind
    reason: str
    record: RecordFacts  # of a copy the one that is kept out
    stays: RecordFacts


class PairsView(Frozen):
    """The pairs among all records of some files, the copies first."""

    records: int
    copies: int
    doubts: int
    pairs: tuple[PairView, ...]
    files: tuple[FilePreview, ...] = Field(description="Each file as it was read.")


@router.post(
    "/duplicates",
    summary="Say how some files are read, and which of their records are copies or may be, each pair with its reason",
    response_model=PairsView,
    openapi_extra={"requestBody": {"required": True, "content": {MEDIA_TYPE: {"schema": component(DuplicatesForm)}}}},
    responses=problems.described(HTTPStatus.UNSUPPORTED_MEDIA_TYPE) | {200: {"content": {"text/csv": {}}}},
)
async def find_duplicates(
    request: Request,
    client: Of,
    _: Submitter,
    form: TableForm = TableForm.JSON,
    limit: Annotated[
        int | None, Query(ge=1, description="Pairs of each kind in JSON, the first of them; none: all.")
    ] = None,
) -> PairsView | Response:
    """The files are compared as one, as a screening compares them."""
    async with uploaded(request, DuplicateTerms, largest=client.settings.max_file_bytes) as (terms, files):
        limiter: anyio.CapacityLimiter = request.app.state.previews
        return await to_thread.run_sync(_found, client, terms, files, form, limit, limiter=limiter)


def _found(
    client: Client, terms: DuplicateTerms, files: Sequence[UploadFile], form: TableForm, limit: int | None
) -> PairsView | Response:
    with on_disk(files, names_of(files)) as called:
        stated = stated_of(terms.sources, called)
        largest = client.settings.max_file_bytes
        found = find_pairs(stated, names=called, max_bytes=largest, strict=terms.strict)
        kinds = {kind: found.of(kind) for kind in PairKind}
        shown = [pair for of_kind in kinds.values() for pair in (of_kind if form is TableForm.CSV else of_kind[:limit])]
        pairs = [pair.called(called) for pair in shown]
    if form is TableForm.CSV:
        stream = StringIO(newline="")
        write_pairs(pairs, stream)
        return Response(stream.getvalue(), media_type="text/csv")
    return PairsView(
        records=found.records,
        copies=len(kinds[PairKind.COPY]),
        doubts=len(kinds[PairKind.DOUBT]),
        pairs=tuple(
            PairView(kind=pair.kind, reason=pair.reason, record=_facts(pair.one), stays=_facts(pair.stays))
            for pair in pairs
        ),
        files=previews_of(found.sources),
    )


def _facts(placed: PlacedRecord) -> RecordFacts:
    told = {name: None if value is None else str(value) for name, value in placed.facts.items()}
    return RecordFacts.model_validate(told | {"index": placed.index, "line": placed.facts["line"]})
