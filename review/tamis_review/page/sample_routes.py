"""Routes of random samples that people judge.

An audit samples the excluded records, to estimate wrong exclusions. The stop rule samples the unread records, to decide
whether people may stop.
"""

from http import HTTPStatus
from typing import Annotated, Self

from fastapi import APIRouter, Path, Query
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict, Field, StrictBool

from tamis_producer.gateway import problems
from tamis_producer.gateway.access import Of, Reader, Reviewer
from tamis_producer.gateway.description import BatchId
from tamis_producer.gateway.lists import ListPage, Wanted
from tamis_producer.gateway.result_forms import TableForm
from tamis_review import audits, reading
from tamis_review.overrides import read_visible
from tamis_schemas import Audit, InvalidRequest, StopAnswer, Stratum
from tamis_schemas.records.random_order import LARGEST_SEED
from tamis_schemas.values.frozen import Frozen
from tamis_schemas.values.whole_number import WholeNumber

from ..decisions.audits import AuditDecision, AuditVerdict, verdict
from ..decisions.sheets import write_stop_sample
from .written import csv_table

RESPONSES = problems.KEYED | problems.UNKNOWN
audit_router = APIRouter(prefix="/v1", tags=["audits"], responses=RESPONSES)
stop_router = APIRouter(prefix="/v1", tags=["stop rule"], responses=RESPONSES)

MOST_DRAWN = 100_000  # records in a sample
MOST_DECISIONS = 1_000  # in a request

AuditId = Annotated[str, Path(description="The id of an audit, or the beginning of the id.", examples=["9b1c"])]


class NewAudit(BaseModel):
    """The sample to draw. The same seed and the same exclusions return the same audit."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"n": 50, "seed": 7}]})

    n: WholeNumber = Field(default=50, ge=1, le=MOST_DRAWN, description="Records to draw; all if there are fewer.")
    seed: WholeNumber = Field(ge=0, le=LARGEST_SEED, description="The same seed draws the same records.")
    stratum: Stratum = Field(default=Stratum.ALL, description="Who excluded the records.")


class NewAuditDecision(BaseModel):
    """A person's decision on one record of a sample."""

    model_config = ConfigDict(extra="forbid")

    index: WholeNumber = Field(ge=0, lt=2**31, description="The item's place in its batch.")
    include: StrictBool = Field(description="The record should have been included.")
    note: str | None = Field(default=None, max_length=2_000)


class AuditDecisions(BaseModel):
    """Decisions on records of a sample. All are recorded, or none."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"decisions": [{"index": 0, "include": False}]}]}
    )

    decisions: list[NewAuditDecision] = Field(max_length=MOST_DECISIONS)
    reviewer: str | None = Field(default=None, max_length=100, description="The reviewer. Default: the key's label.")
    correct: StrictBool = Field(default=False, description="Replace an earlier decision that says the opposite.")
    include_missed: StrictBool = Field(
        default=False, description="Also include, by an override, each record that should have been included."
    )


class VerdictView(AuditVerdict):
    """The numbers of an audit, and their meaning in words."""

    words: str


class AuditView(Audit):
    """An audit with its verdict."""

    verdict: VerdictView

    @classmethod
    def of(cls, audit: Audit) -> Self:
        """Return the view of an audit with its verdict."""
        numbers = verdict(audit)
        return cls(**dict(audit), verdict=VerdictView(**dict(numbers), words=numbers.sentence))


class AuditRecorded(Frozen):
    """An audit with newly recorded decisions."""

    audit: AuditView
    new: int = Field(description="The number of new decisions.")
    included: tuple[int, ...] = Field(description="Places of the records that are now included by an override.")


@audit_router.post(
    "/batches/{batch_id}/audits",
    status_code=HTTPStatus.CREATED,
    summary="Draw a random sample of the excluded records, for a person to judge",
    responses=problems.OF_BODIES,
)
def draw_audit(batch_id: BatchId, wanted: NewAudit, client: Of, _: Reviewer) -> AuditView:
    return AuditView.of(audits.draw_audit(client.batch(batch_id), wanted.n, seed=wanted.seed, stratum=wanted.stratum))


@audit_router.get("/batches/{batch_id}/audits", summary="List the audits of a batch, oldest first")
def list_audits(batch_id: BatchId, client: Of, _: Reader, wanted: Wanted) -> ListPage[AuditView, int]:
    return wanted.of([AuditView.of(audit) for audit in audits.list_audits(client.batch(batch_id))])


@audit_router.get(
    "/audits/{audit_id}",
    summary="Get the progress of an audit, and an upper bound on missed records, in figures and in words",
)
def get_audit(audit_id: AuditId, client: Of, _: Reader) -> AuditView:
    return AuditView.of(audits.audit(client, audit_id))


@audit_router.post(
    "/audits/{audit_id}/decisions",
    status_code=HTTPStatus.CREATED,
    summary="Record decisions on a sample: all of them, or none",
    responses=problems.OF_BODIES,
)
def record_audit_decisions(audit_id: AuditId, said: AuditDecisions, client: Of, key: Reviewer) -> AuditRecorded:
    reviewer = said.reviewer or key.label
    decisions = [AuditDecision(entry.index, entry.include, reviewer, entry.note) for entry in said.decisions]
    done = audits.record_audit(client, audit_id, decisions, correct=said.correct, include_missed=said.include_missed)
    included = tuple(entry.index for entry in done.overrides)
    return AuditRecorded(audit=AuditView.of(done.audit), new=done.new, included=included)


RECALL = "The share of all includes to find. Default: that of the last sample, else 0.95."
CONFIDENCE = "The confidence of the promise. Default: that of the last sample, else 0.95."
HUMAN_ERRORS = "Allow for includes that people overlook, estimated from records that two people read."


class NewStopSample(BaseModel):
    """The recall and confidence to confirm with a sample of unread records. If a sample is open, it is extended."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"recall": 0.95, "confidence": 0.95}]})

    recall: float | None = Field(default=None, strict=True, gt=0, le=1, description=RECALL)
    confidence: float | None = Field(default=None, strict=True, gt=0, lt=1, description=CONFIDENCE)
    seed: WholeNumber | None = Field(
        default=None, ge=0, le=LARGEST_SEED, description="A new sample's seed; the same draws the same. Default: any."
    )
    audit: str | None = Field(
        default=None, max_length=36, description="An audit of all exclusions that a new sample begins with."
    )
    human_errors: StrictBool = Field(default=True, description=HUMAN_ERRORS)


@stop_router.get(
    "/batches/{batch_id}/stop",
    summary="Whether people may stop reading with a promise, and what it costs",
    response_model=StopAnswer,
    responses=problems.OF_BODIES | {200: {"content": {"text/csv": {}}}},
)
def get_stop_answer(
    batch_id: BatchId,
    client: Of,
    _: Reader,
    recall: Annotated[float | None, Query(gt=0, le=1, description=RECALL)] = None,
    confidence: Annotated[float | None, Query(gt=0, lt=1, description=CONFIDENCE)] = None,
    human_errors: Annotated[bool, Query(description=HUMAN_ERRORS)] = True,
    form: TableForm = TableForm.JSON,
) -> StopAnswer | Response:
    """Return whether people may stop reading. As CSV, return the unread records of the open sample, to fill in.

    If no sample is open, the answer for CSV is 422.
    """
    batch = client.batch(batch_id)
    answer = reading.may_stop(batch, recall, confidence, human_errors=human_errors)
    if form is TableForm.JSON:
        return answer
    sample = answer.sample
    if sample is None:
        raise InvalidRequest("no sample is open: draw one first")
    waiting = read_visible(batch, [record.index for record in sample.waiting])
    return csv_table(lambda stream: write_stop_sample(sample, waiting, stream))


@stop_router.post(
    "/batches/{batch_id}/stop-samples",
    status_code=HTTPStatus.CREATED,
    summary="Draw the unread records that the promise needs, or extend the open sample",
    responses=problems.OF_BODIES,
)
def draw_stop_sample(batch_id: BatchId, wanted: NewStopSample, client: Of, _: Reviewer) -> StopAnswer:
    return reading.draw_stop_sample(client.batch(batch_id), **dict(wanted))


@stop_router.post(
    "/batches/{batch_id}/stop-samples/close",
    summary="Close the open sample; the next sample is another attempt",
    responses=problems.OF_BODIES,
)
def close_stop_sample(batch_id: BatchId, client: Of, _: Reviewer) -> StopAnswer:
    return reading.close_stop_sample(client.batch(batch_id))
