"""Routes of files: a bibliographic file as a new batch, a file of criteria as criteria."""

from http import HTTPStatus
from pathlib import Path
from shutil import copyfileobj
from tempfile import TemporaryDirectory
from typing import Annotated

from fastapi import APIRouter, Header, Request, Response
from fastapi.concurrency import run_in_threadpool
from pydantic import BaseModel, ConfigDict, Field
from starlette.datastructures import UploadFile

from tamis_schemas import Inclusion, InputError, InvalidParameters, SearchCriteria

from ..client.client import Client
from ..files.criteria_file import read_criteria
from ..files.criteria_lint import doubts
from ..intake.notes import Note
from ..screening import InitialFilter
from ..screening.identification import identify
from . import problems
from .access import Of, Submitter
from .api_keys import ApiKey
from .batch_status_view import BatchStatusView
from .description import component
from .submission_body import EXAMPLE_TERMS, Terms
from .submitting import SUBMITTED, submit_terms
from .upload import MEDIA_TYPE, uploaded

router = APIRouter(prefix="/v1", tags=["files"], responses=problems.KEYED | problems.OF_BODIES)

LONGEST_NAME = 200
NOTES_TOLD = 100  # of a file; the counts are of all
LONGEST_CRITERIA = 100_000  # characters of a file of criteria


class FileTerms(Terms):
    """The terms of a batch that comes from a file."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [EXAMPLE_TERMS]})

    initial_filter: bool = Field(default=True, description="Of a screening: reject first what rules alone rule out.")
    keep_duplicates: bool = Field(default=False, description="Ask about every copy of a record.")
    strict: bool = Field(default=False, description="A record that cannot be read is an error; else it is left out.")


class FileBatchView(BatchStatusView):
    """The new batch, and what of its file became no record."""

    skipped: int  # lines and the like that belong to no record
    lost: int  # records that could not be read
    notes: tuple[Note, ...]  # the first of them, by line


class FileForm(BaseModel):
    """A file, and what to ask of its records."""

    terms: FileTerms
    file: Annotated[bytes, Field(description="As a database or a reference manager exports it, told by its content.")]


class CriteriaText(BaseModel):
    """A file of criteria as `tamis criteria init` begins one."""

    model_config = ConfigDict(extra="forbid")

    text: str = Field(max_length=LONGEST_CRITERIA, description="YAML or JSON.")


class CriteriaRead(BaseModel):
    """Criteria as they were understood."""

    criteria: SearchCriteria
    switched_off: dict[str, str] = Field(description="Rules of the initial filter that they contradict, and why.")
    doubts: list[str] = Field(description="What is valid, and probably not meant.")


@router.post(
    "/files",
    operation_id="submit_file",
    status_code=HTTPStatus.CREATED,
    summary="Submit a bibliographic file: a form with the file, and with terms that say what to ask of its records",
    openapi_extra={"requestBody": {"required": True, "content": {MEDIA_TYPE: {"schema": component(FileForm)}}}},
    responses=SUBMITTED | problems.CONFLICT | problems.OF_MONEY | problems.described(HTTPStatus.UNSUPPORTED_MEDIA_TYPE),
)
async def submit_file(
    request: Request,
    response: Response,
    client: Of,
    key: Submitter,
    idempotency_key: Annotated[str | None, Header(max_length=200)] = None,
) -> FileBatchView:
    """Copies of records are kept out and counted, what cannot be read is told; the form's field `terms` is JSON."""
    async with uploaded(request, FileTerms, largest=client.settings.max_file_bytes) as (terms, file):
        return await run_in_threadpool(_submitted, client, key, terms, file, idempotency_key, response)


@router.post("/criteria", operation_id="read_criteria", summary="Read a file of criteria, and say how it is understood")
def criteria(file: CriteriaText, _: Submitter) -> CriteriaRead:
    with TemporaryDirectory(prefix="tamis-criteria-") as folder:
        path = Path(folder) / "criteria"
        path.write_text(file.text, encoding="utf-8", errors="surrogatepass", newline="")
        try:
            read = read_criteria(path)
        except InputError as error:
            raise _named(error, path, "criteria") from error
    switched_off = {str(rule): why for rule, why in InitialFilter(read).switched_off.items()}
    return CriteriaRead(criteria=read, switched_off=switched_off, doubts=list(doubts(read)))


def _submitted(
    client: Client,
    key: ApiKey,
    terms: FileTerms,
    file: UploadFile,
    idempotency_key: str | None,
    response: Response,
) -> FileBatchView:
    operation, name = terms.operation, file.filename or ""
    if not name.strip() or not name.isprintable() or len(name) > LONGEST_NAME:
        raise InvalidParameters(f"file: its name has 1 to {LONGEST_NAME} printable characters")
    rules = operation.criteria if terms.initial_filter and isinstance(operation, Inclusion) else None
    most = client.settings.max_file_bytes
    with TemporaryDirectory(prefix="tamis-file-") as folder:
        path = Path(folder) / "records"
        with path.open("wb") as copy:
            copyfileobj(file.file, copy)
        try:
            identified = identify(
                path,
                keep_duplicates=terms.keep_duplicates,
                initial_filter=rules,
                max_bytes=most,
                strict=terms.strict,
            )
        except InputError as error:
            raise _named(error, path, name) from error
    standing = submit_terms(
        client,
        key,
        terms,
        identified.records,
        response,
        idempotency_key=idempotency_key,
        label=terms.label or name,
        exclusions=identified.exclusions,
        source=identified.source.model_copy(update={"file": name}),
    )
    intake = identified.intake
    return FileBatchView(**dict(standing), skipped=intake.skipped, lost=intake.lost, notes=intake.notes[:NOTES_TOLD])


def _named(error: InputError, path: Path, name: str) -> InvalidParameters:
    """Return the same complaint about a file under the name that its owner knows."""
    return InvalidParameters(str(error).replace(str(path), name))
