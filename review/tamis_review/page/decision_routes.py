"""Routes of human decisions, and of labels and notes. A human decision is stored beside the model's decision."""

from collections.abc import Mapping
from dataclasses import fields
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, ConfigDict, Field, StrictBool

from tamis_producer.client.client import Client
from tamis_producer.gateway import problems
from tamis_producer.gateway.access import Of, Reader, Reviewer
from tamis_producer.gateway.description import BatchId, Index
from tamis_producer.gateway.lists import ListPage, Wanted
from tamis_review import copies, imported_decisions, overrides
from tamis_review.remarks import count_labels, remark
from tamis_schemas import HumanStage, InvalidParameters
from tamis_schemas.answers.override import CopyVerdict, Override
from tamis_schemas.values.frozen import Frozen
from tamis_schemas.values.whole_number import WholeNumber

from ..decisions.conflicts import Conflict
from ..decisions.copy_pairs import CopyPair
from ..decisions.decision_words import NamedWords
from ..decisions.foreign_file import TableColumns
from ..decisions.import_decisions import Everything, Imported
from .upload import answered_by_files, form_body

PREFIX, RESPONSES = "/v1/batches/{batch_id}", problems.KEYED | problems.UNKNOWN
decision_router = APIRouter(prefix=PREFIX, tags=["human decisions"], responses=RESPONSES)
label_router = APIRouter(prefix=PREFIX, tags=["labels and notes"], responses=RESPONSES)
MOST_REMARKS = 20  # texts in a request
Reviewing = Annotated[str | None, Field(default=None, max_length=100, description="Default: the key's label.")]
Name = Annotated[str | None, Field(default=None, max_length=100)]
Words = Annotated[list[str], Field(default_factory=list, max_length=100)]


class Decision(BaseModel):
    """A human's decision on one item."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"value": "include", "note": "seen"}]})

    value: Any = Field(
        description="A value of the batch's operation: include, exclude or uncertain; true or false; a number."
    )
    as_text: StrictBool = Field(default=False, description="The value is text, read as `tamis override` reads it.")
    note: str | None = Field(default=None, max_length=2_000)
    reviewer: Reviewing
    settles: bool = Field(default=False, strict=True, description="It overrides other decisions and ends a conflict.")
    stage: HumanStage = Field(default=HumanStage.OWN, description="The decided stage; own: the batch's question.")
    reason: str | None = Field(
        default=None, max_length=2_000, description="Why the record is excluded, or the report was not retrieved."
    )
    decision_id: UUID | None = Field(
        default=None, description="The caller's id; sent again, it returns the same decision."
    )
    in_order: bool = Field(default=False, strict=True, description="The record was taken from the reading order.")


class DecisionTerms(BaseModel):
    """The reviewer of a file's decisions, and how to read the file. The answer shows how Tamis read it."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"reviewer": "Reviewer A"}]})

    reviewer: str | None = Field(default=None, max_length=200, description="The reviewer, if the file names none.")
    stage: HumanStage = HumanStage.OWN
    settles: bool = Field(default=False, strict=True)
    id_column: Name
    decision_column: Name
    reviewer_column: Name
    reason_column: Name
    note_column: Name
    retrieval_column: Name
    include: Words
    exclude: Words
    uncertain: Words
    everything: Everything | None = Field(default=None, description="The decision for every record in the file.")
    dry_run: bool = Field(default=False, strict=True, description="Show how the file is read, and record nothing.")


@decision_router.get("/overrides", summary="List people's decisions, each reviewer's latest")
def list_overrides(batch_id: BatchId, client: Of, _: Reader, wanted: Wanted) -> ListPage[Override, int]:
    return wanted.of(overrides.list_overrides(client.batch(batch_id)))


@decision_router.get("/conflicts", summary="List the records on which people decided differently, with each decision")
def list_conflicts(batch_id: BatchId, client: Of, _: Reader, wanted: Wanted) -> ListPage[Conflict, int]:
    return wanted.of(overrides.list_conflicts(client.batch(batch_id)))


class NewVerdict(BaseModel):
    """A verdict on two records that may be copies."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"index": 4, "of": 2, "verdict": "copies"}]}
    )

    index: WholeNumber = Field(ge=0, lt=2**31, description="The record that leaves if the two are copies.")
    of: WholeNumber = Field(ge=0, lt=2**31, description="The record that stays.")
    verdict: CopyVerdict | None = Field(description="copies, or different reports; null takes the verdict back.")


@decision_router.get("/copies", summary="List the pairs of records that may be copies, with people's verdicts")
def list_copies(batch_id: BatchId, client: Of, _: Reader, wanted: Wanted) -> ListPage[CopyPair, int]:
    return wanted.of(copies.list_copies(client.batch(batch_id)))


@decision_router.post("/copies", summary="Call two records copies or different reports", responses=problems.OF_BODIES)
def decide_copies(batch_id: BatchId, new: NewVerdict, client: Of, key: Reviewer) -> CopyPair:
    return copies.decide_copies(client.batch(batch_id), new.index, new.of, new.verdict, reviewer=key.label)


@decision_router.post(
    "/decisions",
    status_code=HTTPStatus.CREATED,
    summary="Record decisions made elsewhere: a form with the file, and terms that say whose decisions they are",
    openapi_extra=form_body(DecisionTerms, "CSV or TSV, an export of Rayyan or Covidence, or a project of ASReview."),
    responses=problems.OF_BODIES | problems.OF_TYPES,
)
async def import_decisions(batch_id: BatchId, request: Request, client: Of, _: Reviewer) -> Imported:
    """Record a file's decisions, all or none. Rows that match no record, or several records, are listed and skipped."""
    return await answered_by_files(request, client, DecisionTerms, partial(_imported, batch_id), only="decisions")


def _imported(batch_id: str, client: Client, terms: DecisionTerms, called: Mapping[Path, str]) -> Imported:
    (path,) = called
    return imported_decisions.import_decisions(
        client.batch(batch_id),
        path,
        columns=TableColumns(*(getattr(terms, f"{column.name}_column") for column in fields(TableColumns))),
        words=NamedWords(tuple(terms.include), tuple(terms.exclude), tuple(terms.uncertain)),
        **terms.model_dump(include={"reviewer", "stage", "settles", "everything", "dry_run"}),
    )


@decision_router.post(
    "/items/{index}/override",
    status_code=HTTPStatus.CREATED,
    summary="Decide an item, beside the decisions of the model and of others",
    responses=problems.CONFLICT | problems.OF_BODIES,
)
def override_item(batch_id: BatchId, index: Index, decision: Decision, client: Of, key: Reviewer) -> Override:
    return overrides.override(
        client.batch(batch_id),
        index,
        _value(client, batch_id, decision),
        reviewer=decision.reviewer or key.label,
        **decision.model_dump(exclude={"value", "as_text", "reviewer"}),
    )


@decision_router.delete(
    "/items/{index}/override",
    status_code=HTTPStatus.NO_CONTENT,
    summary="Withdraw your decision on an item",
    responses=problems.CONFLICT,
)
def withdraw_override(
    batch_id: BatchId,
    index: Index,
    client: Of,
    key: Reviewer,
    reviewer: Annotated[str | None, Query(max_length=100, description="Default: the key's label.")] = None,
    stage: HumanStage = HumanStage.OWN,
    decision_id: Annotated[UUID | None, Query(description="The caller's id; sent again, nothing is withdrawn.")] = None,
) -> None:
    batch = client.batch(batch_id)
    overrides.withdraw_override(batch, index, reviewer=reviewer or key.label, stage=stage, decision_id=decision_id)


def _value(client: Client, batch_id: str, decision: Decision) -> Any:
    if decision.as_text and not isinstance(decision.value, str):
        raise InvalidParameters("value: with as_text, it must be text, as a person writes it")
    if not decision.as_text or decision.stage is not HumanStage.OWN:
        return decision.value
    return client.batch(batch_id).operation().value_of_text(decision.value)


class Remarks(BaseModel):
    """Labels and notes to add to an item, or to remove."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"labels": ["to discuss"]}]})

    labels: list[str] = Field(default_factory=list, max_length=MOST_REMARKS)
    notes: list[str] = Field(default_factory=list, max_length=MOST_REMARKS)
    remove: StrictBool = Field(default=False, description="Remove them instead.")
    reviewer: Reviewing


class Changed(BaseModel):
    """The outcome of a request to add or remove labels and notes."""

    changed: int = Field(description="The number of labels and notes that changed.")


class LabelCount(Frozen):
    """A label, and the number of items that have it."""

    label: str
    n: int


@label_router.get("/labels", summary="List the labels of a batch, with the number of items that have each")
def list_labels(batch_id: BatchId, client: Of, _: Reader, wanted: Wanted) -> ListPage[LabelCount, int]:
    """Return how many items have each label. On records that people read blind, only the caller's own labels count."""
    return wanted.of([LabelCount(label=label, n=n) for label, n in count_labels(client.batch(batch_id)).items()])


@label_router.post(
    "/items/{index}/remarks",
    status_code=HTTPStatus.CREATED,
    summary="Add labels and notes to an item, or remove them",
    responses=problems.OF_BODIES,
)
def remark_item(batch_id: BatchId, index: Index, remarks: Remarks, client: Of, key: Reviewer) -> Changed:
    named = remarks.model_copy(update={"reviewer": remarks.reviewer or key.label})
    return Changed(changed=remark(client.batch(batch_id), [index], **dict(named)))
