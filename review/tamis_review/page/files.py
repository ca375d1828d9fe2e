"""Routes that read files: bibliographic files become a new batch, a file of criteria becomes criteria."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from http import HTTPStatus
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, Self

from fastapi import APIRouter, Header, Request, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field, StrictBool, ValidationError, model_validator

from tamis_producer.client.client import Client
from tamis_producer.gateway import problems
from tamis_producer.gateway.access import Of, Submitter
from tamis_producer.gateway.allowance import check_price
from tamis_producer.gateway.api_keys import ApiKey
from tamis_producer.gateway.batch_status_view import BatchStatusView
from tamis_producer.gateway.submission_body import EXAMPLE_TERMS, Terms
from tamis_producer.gateway.submission_terms import SUBMITTED, answer, submit_terms
from tamis_review.stages import known_records
from tamis_schemas import Inclusion, InclusionStatus, InputError, InvalidParameters, ReviewPlan, SearchCriteria
from tamis_schemas.batches.review_plan import PASSES_BY_DEFAULT, ReviewStage
from tamis_schemas.operations import first_complaint
from tamis_schemas.values.words import Words

from ..filter import InitialFilter
from ..filter.identification import Identified, identify, label_of
from ..intake.notes import NoteKind
from ..intake.reading import ReadingOptions
from ..intake.stated_source import StatedSource
from ..plans.criteria_file import read_criteria
from ..plans.criteria_lint import doubts
from ..plans.reviews import submit_review
from .upload import answered_by_files, as_called, form_body

router = APIRouter(prefix="/v1", tags=["files"], responses=problems.KEYED | problems.OF_BODIES)

LONGEST_TITLE = 300
NOTES_TOLD = 100  # notes of a file; the counts are complete
LONGEST_CRITERIA = 100_000  # characters of a file of criteria


Sources = Annotated[
    list[StatedSource],
    Field(
        description="The database or register of each file, by the file's name in the form, and when and how it was "
        "searched. Files of one source complete each other. A file without a source is its own source."
    ),
]


class ReadingTerms(BaseModel):
    """How to read the files."""

    strict: StrictBool = Field(default=False, description="An unreadable record is an error; else it is skipped.")
    encoding: str | None = Field(default=None, max_length=40, description="Of files that are not UTF-8. None: a guess.")
    sources: Sources = Field(default_factory=list)

    def reading(self, client: Client) -> ReadingOptions:
        """Return these terms as arguments of `read_file`, with the settings' limit for the size of a file."""
        return {"max_bytes": client.settings.max_file_bytes, "strict": self.strict, "encoding": self.encoding}


class FileTerms(ReadingTerms, Terms):
    """The terms of a batch that comes from files."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [EXAMPLE_TERMS]})

    initial_filter: StrictBool = Field(default=True, description="In a screening: first reject records by rules alone.")
    keep_duplicates: StrictBool = Field(default=False, description="Ask about every copy of a record.")
    updates: str | None = Field(
        default=None,
        max_length=36,
        description="The id of the batch or review whose search this one updates, or the beginning of the id. Only new "
        "records are asked about; reports count both searches.",
    )
    review: Words | None = Field(
        default=None,
        max_length=LONGEST_TITLE,
        description="The title of a new review, whose first stage is the batch. The same files and terms return the "
        "existing review, even with another title or `Idempotency-Key`.",
    )
    passes: tuple[InclusionStatus, ...] = Field(
        default=PASSES_BY_DEFAULT, description="For a review that begins with an inclusion: the statuses that pass."
    )
    at_least: float | None = Field(
        default=None,
        strict=True,
        description="For a review that begins with a score: the lowest score that passes. None: every score.",
    )
    stages: tuple[ReviewStage, ...] = Field(
        default=(), description="Further stages of a review, each for the records that passed the stage before."
    )

    @model_validator(mode="after")
    def _of_a_review(self) -> Self:
        if self.review is None and (self.stages or self.passes != PASSES_BY_DEFAULT or self.at_least is not None):
            raise ValueError("stages, passes and at_least belong to a review: give it a title in `review`")
        try:
            _ = self.plan
        except ValidationError as error:
            raise ValueError(f"review: {first_complaint(error)}") from error
        return self

    @property
    def plan(self) -> ReviewPlan | None:
        """Return the stages of the requested review, or None if the batch belongs to no review."""
        if self.review is None:
            return None
        first = ReviewStage(
            operation=self.operation,
            model=self.model,
            passes=self.passes,
            at_least=self.at_least,
            max_cost=self.max_cost,
            steering=self.steering,
        )
        return ReviewPlan(stages=(first, *self.stages))


class FileNote(BaseModel):
    """One skipped or unreadable part of a file."""

    file: str
    kind: NoteKind
    line: int  # in the file, from 1; the first if there are several
    text: str  # the skipped text, or the reason for the loss
    n: int  # number of occurrences


class FileBatchView(BatchStatusView):
    """The new batch, and the skipped or unreadable parts of its files."""

    skipped: int  # lines and the like outside any record
    lost: int  # unreadable records
    notes: tuple[FileNote, ...]  # the first notes, by file and line


FILE_FORM = form_body(
    FileTerms, "As a database or reference manager exports it. The content decides the format.", several=True
)


class CriteriaText(BaseModel):
    """A file of criteria, like the template of `tamis criteria init`."""

    model_config = ConfigDict(extra="forbid")

    text: str = Field(max_length=LONGEST_CRITERIA, description="YAML or JSON.")


class CriteriaRead(BaseModel):
    """The criteria that Tamis read from a file, with warnings about them."""

    criteria: SearchCriteria
    switched_off: dict[str, str] = Field(description="Rules of the initial filter that they contradict, and why.")
    doubts: list[str] = Field(description="Valid criteria that are probably mistakes.")


@router.post(
    "/files",
    operation_id="submit_file",
    status_code=HTTPStatus.CREATED,
    response_model=FileBatchView,
    summary="Submit bibliographic files: a form with the files, and terms that say what to ask about the records",
    openapi_extra=FILE_FORM,
    responses=SUBMITTED
    | problems.CONFLICT
    | problems.OF_MONEY
    | problems.UNKNOWN  # an unknown search to update
    | problems.OF_TYPES,
)
async def submit_file(
    request: Request,
    client: Of,
    key: Submitter,
    idempotency_key: Annotated[str | None, Header(max_length=200)] = None,
) -> Response:
    """Submit a batch of the files' records. Duplicates are removed and counted; unreadable records are listed.

    The form's field `terms` is JSON.
    """
    return await answered_by_files(request, client, FileTerms, partial(_submitted, key, idempotency_key))


@router.post("/criteria", operation_id="read_criteria", summary="Read a file of criteria, and show the result")
def criteria(file: CriteriaText, _: Submitter) -> CriteriaRead:
    with TemporaryDirectory(prefix="tamis-criteria-") as folder:
        path = Path(folder) / "criteria"
        path.write_text(file.text, encoding="utf-8", errors="surrogatepass", newline="")
        try:
            read = read_criteria(path)
        except InputError as error:
            raise InvalidParameters(as_called(str(error), {path: "criteria"})) from error
    switched_off = {str(rule): why for rule, why in InitialFilter(read).switched_off.items()}
    return CriteriaRead(criteria=read, switched_off=switched_off, doubts=list(doubts(read)))


def _submitted(
    key: ApiKey, idempotency_key: str | None, client: Client, terms: FileTerms, called: Mapping[Path, str]
) -> Response:
    identified, response = identified_of(client, terms, called), Response()
    identification: dict[str, Any] = {"exclusions": identified.exclusions, "source": identified.sources}
    if terms.review is None or (plan := terms.plan) is None:
        view = submit_terms(
            client,
            key,
            terms,
            identified.records,
            response,
            idempotency_key=idempotency_key,
            label=terms.label or label_of([*called.values()]),
            updates=terms.updates,
            **identification,
        )
    else:
        plan.each(lambda stage: check_price(key, stage.operation, stage.model, client.settings))
        begun = submit_review(
            client,
            plan,
            identified.records,
            label=terms.review,
            use_cache=terms.use_cache,
            updates=terms.updates,
            priority=terms.priority,
            callback=terms.callback or key.callback,
            api_key_id=key.id,
            **identification,
        )
        view = answer(begun.stages()[0], response, replayed=begun.replayed)
    whole = FileBatchView(**dict(view), **notes_of(identified))
    del response.headers["content-length"]
    return JSONResponse(whole.model_dump(mode="json"), HTTPStatus.CREATED, response.headers)


def identified_of(client: Client, terms: FileTerms, called: Mapping[Path, str]) -> Identified:
    """Return the records of a form's files, read as `terms` say. Raise `InputError` if a file is unreadable.

    `called`: path of each file -> its name in the form.
    """
    operation = terms.operation
    earlier = None if terms.updates is None else known_records(client, terms.updates)
    return identify(
        stated_of(terms.sources, called),
        keep_duplicates=terms.keep_duplicates,
        initial_filter=operation.criteria if terms.initial_filter and isinstance(operation, Inclusion) else None,
        names=called,
        known=earlier,
        **terms.reading(client),
    )


def notes_of(identified: Identified) -> dict[str, Any]:
    """Return fields of an answer: the counts `skipped` and `lost`, and the first `NOTES_TOLD` notes on the files."""
    notes = [FileNote(file=file.name, **asdict(note)) for file in identified.files for note in file.intake.notes]
    counts = {name: sum(getattr(file.intake, name) for file in identified.files) for name in ("skipped", "lost")}
    return {**counts, "notes": tuple(notes[:NOTES_TOLD])}


def stated_of(sources: Sequence[StatedSource], called: Mapping[Path, str]) -> list[StatedSource]:
    """Return the stated sources with the paths of their files, then each remaining file as a source of its own.

    `called`: path of each file -> its name in the form. Raises `InvalidParameters` if the form lacks a stated file.
    """
    places = {Path(name): path for path, name in called.items()}
    stated: list[StatedSource] = []
    for number, source in enumerate(sources):
        for file in source.files:
            if file not in places:
                raise InvalidParameters(f"terms: sources.{number}.files: the form has no other file {str(file)!r}")
        stated.append(source.model_copy(update={"files": tuple(places.pop(file) for file in source.files)}))
    return [*stated, *(StatedSource(files=(path,)) for path in places.values())]
