"""Routes of files: a bibliographic file as a new batch, a file of criteria as criteria."""

from http import HTTPStatus
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Self

from fastapi import APIRouter, Depends, Header, Request, Response
from fastapi.concurrency import run_in_threadpool
from pydantic import BaseModel, ConfigDict, Field, model_validator

from tamis_schemas import Inclusion, InputError, InvalidParameters, SearchCriteria

from ..api_keys import ApiKey, Scope
from ..client import Client
from ..criteria_doubts import doubts
from ..criteria_file import read_criteria
from ..identification import identify
from ..screening import InitialFilter
from . import problems
from .access import client_of, holder_of
from .standing import Standing
from .submission import Terms
from .upload import MEDIA_TYPE, read_upload

router = APIRouter(prefix="/v1", tags=["files"], responses=problems.KEYED | problems.OF_BODIES)

LONGEST_CRITERIA = 100_000  # characters of a file of criteria

Submitter = Annotated[ApiKey, Depends(holder_of(Scope.SUBMIT))]
Of = Annotated[Client, Depends(client_of)]


class FileTerms(Terms):
    """What is asked of the records of a file."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {"file": "citations.ris", "operation": {"operation": "filter", "criteria": "Is this about oncology?"}}
            ]
        },
    )

    file: str = Field(min_length=1, max_length=200, description="What the file is called.")
    initial_filter: bool = Field(default=True, description="Of a screening: reject first what rules alone rule out.")
    keep_duplicates: bool = Field(default=False, description="Ask about every copy of a record.")

    @model_validator(mode="after")
    def _a_name(self) -> Self:
        if not self.file.isprintable() or not self.file.strip():
            raise ValueError("file: a name is printable")
        return self


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
    status_code=HTTPStatus.CREATED,
    summary="Submit a bibliographic file: a line of JSON that says what to ask, and behind it the file as it is",
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {MEDIA_TYPE: {"schema": {"type": "string", "format": "binary"}}},
            "description": "The first line is an object of these: "
            + ", ".join(f"`{name}`" for name in FileTerms.model_fields),
        }
    },
    responses=problems.CONFLICT | problems.told(HTTPStatus.UNSUPPORTED_MEDIA_TYPE),
)
async def submit_file(
    request: Request,
    response: Response,
    client: Of,
    _: Submitter,
    idempotency_key: Annotated[str | None, Header(max_length=200)] = None,
) -> Standing:
    """RIS, NBIB, BibTeX, EndNote XML, CSV, TSV and JSONL, told by their content. Copies are kept out and counted."""
    with TemporaryDirectory(prefix="tamis-file-") as folder:
        path = Path(folder) / "records"
        terms = await read_upload(request, FileTerms, path, largest=client.settings.max_file_bytes)
        standing = await run_in_threadpool(_submitted, client, terms, path, idempotency_key)
    response.headers["Location"] = f"/v1/batches/{standing.batch.id}"
    return standing


@router.post("/criteria", summary="Read a file of criteria, and say how it is understood")
def criteria(given: CriteriaText, _: Submitter) -> CriteriaRead:
    with TemporaryDirectory(prefix="tamis-criteria-") as folder:
        path = Path(folder) / "criteria"
        path.write_text(given.text, encoding="utf-8", errors="surrogatepass", newline="")
        try:
            read = read_criteria(path)
        except InputError as error:
            raise _named(error, path, "criteria") from error
    switched_off = {str(rule): why for rule, why in InitialFilter(read).switched_off.items()}
    return CriteriaRead(criteria=read, switched_off=switched_off, doubts=list(doubts(read)))


def _submitted(client: Client, terms: FileTerms, path: Path, idempotency_key: str | None) -> Standing:
    operation = terms.operation
    rules = operation.criteria if terms.initial_filter and isinstance(operation, Inclusion) else None
    most = client.settings.max_file_bytes
    try:
        found = identify(path, keep_duplicates=terms.keep_duplicates, initial_filter=rules, max_bytes=most)
    except InputError as error:
        raise _named(error, path, terms.file) from error
    batch = client.submit(
        operation,
        found.records,
        model=terms.model,
        label=terms.label or terms.file,
        use_cache=terms.use_cache,
        exclusions=found.exclusions,
        source=found.source.model_copy(update={"file": terms.file}),
        priority=terms.priority,
        max_cost=terms.max_cost,
        idempotency_key=idempotency_key,
    )
    return Standing.of(batch.status())


def _named(error: InputError, path: Path, name: str) -> InvalidParameters:
    """What is wrong with a file, under the name that its owner knows."""
    return InvalidParameters(str(error).replace(str(path), name))
