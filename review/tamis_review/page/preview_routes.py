"""Routes that read files and submit nothing.

They show the prompts, the cost and the time of a batch, the records in the files, and certain or possible duplicates.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, replace
from decimal import Decimal
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import anyio
from fastapi import APIRouter, Query, Request
from fastapi.responses import Response
from pydantic import ConfigDict, Field

from tamis_producer.client.client import Client
from tamis_producer.gateway import problems
from tamis_producer.gateway.access import Of, Submitter
from tamis_producer.gateway.result_forms import TableForm
from tamis_producer.runs.dry_run import PanelRehearsal, Planned, Rehearsal
from tamis_schemas import ConfigurationError, InvalidParameters, Item, PanelPolicy, SourceKind
from tamis_schemas.batches.review_plan import ReviewStage
from tamis_schemas.values.frozen import Frozen

from ..filter.duplicate_pairs import PairKind, PlacedRecord, find_pairs, write_pairs
from ..intake.sourced_records import FileRead, SourceRead
from .files import FILE_FORM, NOTES_TOLD, FileNote, FileTerms, ReadingTerms, identified_of, notes_of, stated_of
from .upload import answered_by_files, form_body
from .written import csv_table

router = APIRouter(prefix="/v1", tags=["files"], responses=problems.KEYED | problems.OF_BODIES)

Rehearse: TypeAlias = Callable[[Planned], Rehearsal]

RENDERED_AT_ONCE = 1  # for all callers: each renders every prompt
MOST_ASKED = 20_000  # records: all their prompts are in memory
DOUBTS_TOLD = 100


class DoubtfulPair(Frozen):
    """Two records that may be copies. The model is asked about both."""

    ids: tuple[str | int | None, ...] = Field(min_length=2, max_length=2)
    titles: tuple[str | None, ...] = Field(min_length=2, max_length=2)
    reason: str  # matching and contradicting fields


class Estimate(Frozen):
    """An estimate of the prompts, the time and the cost of a batch that is not submitted."""

    records: int
    asked: int = Field(description="Records that a model would be asked about.")
    models: tuple[Rehearsal, ...] = Field(description="One estimate for each model; only the first has prompts.")
    policy: PanelPolicy | None = Field(description="How several models decide.")
    calls: int = Field(description="Calls to all models.")
    cost: Decimal | None = Field(description="The estimated cost in dollars; null: a price is not known.")
    most_cost: Decimal | None = Field(description="The cost in dollars if every answer has the maximum length.")
    max_cost: Decimal | None = Field(description="The budget of the batch or stage.")


class FurtherStage(Frozen):
    """An estimate of a later stage of a review: an upper bound, as if every record passed the earlier stages."""

    name: str
    dry_run: Estimate | None = Field(description="null for a judge, whose items do not exist yet.")


class DryRun(Estimate):
    """An estimate of a batch of files, or of the first stage of a review. Nothing is submitted."""

    duplicates: int = Field(description="Copies of other records; no model is asked about them.")
    rejected: int = Field(description="Records that the initial filter rejects.")
    doubts: int = Field(description="Pairs of records that may be copies; both are kept.")
    doubtful: tuple[DoubtfulPair, ...] = Field(description=f"The first {DOUBTS_TOLD} of these pairs.")
    skipped: int = Field(description="Lines or other text outside any record.")
    lost: int = Field(description="Records that could not be read.")
    notes: tuple[FileNote, ...]
    stages: tuple[FurtherStage, ...] = Field(description="The further stages of a review.")


def nothing_renders(_: Planned) -> Rehearsal:
    """Raise `ConfigurationError`, because this gateway renders no prompts."""
    raise ConfigurationError("this gateway renders no prompts: use `tamis serve` with the extra `worker`")


@router.post(
    "/dry-run",
    operation_id="dry_run",
    summary="Estimate the calls and cost of a batch from files: the form of `/v1/files`; nothing is submitted",
    openapi_extra=FILE_FORM,
    responses=problems.UNKNOWN | problems.OF_TYPES,
)
async def dry_run(request: Request, client: Of, _: Submitter) -> DryRun:
    """Return the prompts of three records, and estimates of tokens, cost and time. No model is asked."""
    rehearse: Rehearse = request.app.state.rehearse
    limiter: anyio.CapacityLimiter = request.app.state.dry_runs
    return await answered_by_files(request, client, FileTerms, partial(_rehearsed, rehearse), together=limiter)


def rehearsable(asked: Iterable[Item]) -> list[Item]:
    """Return the items of `asked` as a list. Raise `InvalidParameters` if there are more than `MOST_ASKED`."""
    taken = list(islice(asked, MOST_ASKED + 1))  # reads only one more than the limit
    if len(taken) > MOST_ASKED:
        raise InvalidParameters(
            f"a dry run here takes at most {MOST_ASKED:,} records; `--dry-run` on the command line takes more"
        )
    return taken


def estimated(planned: Planned, records: int, max_cost: Decimal | None, rehearse: Rehearse) -> Estimate:
    """Return the estimate of a planned batch. Raise the errors that submitting the batch would raise.

    `records`: the number of the batch's records, including records that no model is asked about. `rehearse`: renders
    the prompts.
    """
    together = PanelRehearsal.of(planned, rehearse)
    first, *others = together.models
    return Estimate(
        records=records,
        asked=len(planned.items),
        models=(first, *(replace(other, samples=()) for other in others)),  # every model gets the same prompts
        policy=together.policy,
        calls=together.calls,
        cost=together.cost,
        most_cost=together.most_cost,
        max_cost=max_cost,
    )


def _rehearsed(rehearse: Rehearse, client: Client, terms: FileTerms, called: Mapping[Path, str]) -> DryRun:
    identified = identified_of(client, terms, called)
    items = rehearsable(identified.asked)
    operation = client.with_examples(terms.operation)
    planned = Planned(operation, items, terms.model, use_cache=terms.use_cache, steering=terms.steering)

    def pair(index: int, of: int, reason: str) -> DoubtfulPair:
        record, other = identified.records[index], identified.records[of]
        return DoubtfulPair(
            ids=(record.get("id"), other.get("id")), titles=(record.get("title"), other.get("title")), reason=reason
        )

    def further(stage: ReviewStage) -> FurtherStage:
        planned = Planned.of_stage(stage, items, use_cache=terms.use_cache)
        if planned is None:
            return FurtherStage(name=stage.name, dry_run=None)
        planned = replace(planned, operation=client.with_examples(planned.operation))
        return FurtherStage(name=stage.name, dry_run=estimated(planned, len(items), stage.max_cost, rehearse))

    return DryRun(
        **dict(estimated(planned, len(identified.records), terms.max_cost, rehearse)),
        duplicates=identified.duplicates,
        rejected=identified.rejected,
        doubts=len(identified.doubts),
        doubtful=tuple(pair(doubt.index, doubt.of, doubt.reason) for doubt in identified.doubts[:DOUBTS_TOLD]),
        **notes_of(identified),
        stages=() if terms.plan is None else terms.plan.each(further, skip=1),
    )


FIRST = 5  # records: enough to recognise a wrong file
LONGEST_SHOWN = 300  # characters of a value


class FirstRecord(Frozen):
    """The fields that identify a record for people."""

    title: str | None
    authors: str | None
    year: str | None
    journal: str | None


class FilePreview(Frozen):
    """A file of a source, with the numbers of records and notes read from it."""

    file: str
    source: str = Field(description="As stated, else as named in the file, else the file's name.")
    kind: SourceKind
    format: str
    encoding: str
    records: int
    completes: str | None = Field(description="The file of the same source whose records this file completes.")
    replaced: int = Field(description="Bytes that are invalid in the encoding, and were read as cp1252.")
    skipped: int = Field(description="Lines or other text outside any record.")
    lost: int = Field(description="Records that could not be read.")
    notes: tuple[FileNote, ...] = Field(description=f"The first {NOTES_TOLD} notes on skipped or lost parts.")
    first: tuple[FirstRecord, ...] = Field(description=f"The first {FIRST} records.")


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


class DuplicateTerms(ReadingTerms):
    """How to read the files."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{}]})


class RecordFacts(Frozen):
    """The fields that identify a record, with its file and its position in this file."""

    file: str
    index: int  # place in its file, from 0
    line: int | None
    id: str
    title: str | None
    year: str | None
    journal: str | None
    doi: str | None


class PairView(Frozen):
    """Two records that are copies of each other, or may be."""

    kind: PairKind
    reason: str
    record: RecordFacts  # the excluded record, if the two are copies
    stays: RecordFacts


class PairsView(Frozen):
    """The pairs of records that are or may be copies, among all files. Certain copies come first."""

    records: int
    copies: int
    doubts: int
    pairs: tuple[PairView, ...]
    files: tuple[FilePreview, ...] = Field(description="Each file, and how it was read.")


@router.post(
    "/duplicates",
    summary="Preview files, and list the pairs of records that are or may be copies, each with its reason",
    response_model=PairsView,
    openapi_extra=form_body(DuplicateTerms, "As a database or reference manager exports it.", several=True),
    responses=problems.OF_TYPES | {200: {"content": {"text/csv": {}}}},
)
async def find_duplicates(
    request: Request,
    client: Of,
    _: Submitter,
    form: TableForm = TableForm.JSON,
    limit: Annotated[int | None, Query(ge=1, description="The most pairs of each kind in JSON. Default: all.")] = None,
) -> PairsView | Response:
    """Return the pairs of records that are or may be copies, among all files together, as a screening finds them."""
    return await answered_by_files(request, client, DuplicateTerms, partial(_found, form, limit))


def _found(
    form: TableForm, limit: int | None, client: Client, terms: DuplicateTerms, called: Mapping[Path, str]
) -> PairsView | Response:
    result = find_pairs(stated_of(terms.sources, called), names=called, **terms.reading(client))
    kinds = {kind: result.of(kind) for kind in PairKind}
    shown = [pair for of_kind in kinds.values() for pair in (of_kind if form is TableForm.CSV else of_kind[:limit])]
    pairs = [pair.called(called) for pair in shown]
    if form is TableForm.CSV:
        return csv_table(lambda stream: write_pairs(pairs, stream))
    return PairsView(
        records=result.records,
        copies=len(kinds[PairKind.COPY]),
        doubts=len(kinds[PairKind.DOUBT]),
        pairs=tuple(
            PairView(kind=pair.kind, reason=pair.reason, record=_facts(pair.one), stays=_facts(pair.stays))
            for pair in pairs
        ),
        files=tuple(_preview(source, file) for source in result.sources for file in source.files),
    )


def _facts(placed: PlacedRecord) -> RecordFacts:
    texts = {name: None if value is None else str(value) for name, value in placed.facts.items()}
    return RecordFacts.model_validate(texts | {"index": placed.index, "line": placed.facts["line"]})
