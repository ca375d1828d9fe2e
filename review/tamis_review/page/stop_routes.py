"""Routes of the stop rule: whether people may stop reading, and the samples of what nobody has read."""

from http import HTTPStatus
from io import StringIO
from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt

from tamis_producer.gateway import problems
from tamis_producer.gateway.access import Of, Reader, Reviewer
from tamis_producer.gateway.description import BatchId
from tamis_producer.gateway.result_forms import TableForm
from tamis_review import reading
from tamis_review.reading import may_stop
from tamis_schemas import InvalidRequest, StopAnswer
from tamis_schemas.records.random_order import LARGEST_SEED

from ..decisions.fill_in_sheet import write_stop_sample
from .sight import sight_of

router = APIRouter(
    prefix="/v1/batches/{batch_id}",
    tags=["stop rule"],
    responses=problems.KEYED | problems.UNKNOWN | problems.OF_BODIES,
)
RECALL = "The share of all includes to be found; left out: what the last sample was drawn for, else 0.95."
CONFIDENCE = "Of the promise; left out: what the last sample was drawn for, else 0.95."
HUMAN_ERRORS = "Take in what people overlook, as far as records that two of them read show it."


class NewStopSample(BaseModel):
    """The promise that a sample is to be drawn for; one that is open is extended."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"recall": 0.95, "confidence": 0.95}]})

    recall: float | None = Field(default=None, strict=True, gt=0, le=1, description=RECALL)
    confidence: float | None = Field(default=None, strict=True, gt=0, lt=1, description=CONFIDENCE)
    seed: StrictInt | None = Field(
        default=None, ge=0, le=LARGEST_SEED, description="Of a new sample: the same one draws the same; left out: any."
    )
    audit: str | None = Field(
        default=None, max_length=36, description="An audit of all exclusions that a new sample begins with."
    )
    human_errors: StrictBool = Field(default=True, description=HUMAN_ERRORS)


@router.get(
    "/stop",
    summary="Whether people may stop reading with a promise, and what it costs",
    response_model=StopAnswer,
    responses={200: {"content": {"text/csv": {}}}},
)
def get_stop_answer(
    batch_id: BatchId,
    client: Of,
    key: Reader,
    recall: Annotated[float | None, Query(gt=0, le=1, description=RECALL)] = None,
    confidence: Annotated[float | None, Query(gt=0, lt=1, description=CONFIDENCE)] = None,
    human_errors: Annotated[bool, Query(description=HUMAN_ERRORS)] = True,
    form: TableForm = TableForm.JSON,
) -> StopAnswer | Response:
    """As CSV it is the records of the open sample that are still to be read, a table to fill in; 422 where none is."""
    batch = client.batch(batch_id)
    answer = sight_of(client, batch_id, key).stop(may_stop(batch, recall, confidence, human_errors=human_errors))
    if form is TableForm.JSON:
        return answer
    if answer.sample is None:
        raise InvalidRequest("no sample is open, so there is nothing to write: draw one first")
    table = StringIO(newline="")
    write_stop_sample(answer.sample, batch.results([one.index for one in answer.sample.waiting]), table)
    return Response(table.getvalue(), media_type="text/csv")


@router.post(
    "/stop-samples",
    status_code=HTTPStatus.CREATED,
    summary="Draw as many unread records as the promise needs, or more of the sample that is open",
)
def draw_stop_sample(batch_id: BatchId, wanted: NewStopSample, client: Of, key: Reviewer) -> StopAnswer:
    answer = reading.draw_stop_sample(
        client.batch(batch_id),
        wanted.recall,
        wanted.confidence,
        seed=wanted.seed,
        audit=wanted.audit,
        human_errors=wanted.human_errors,
    )
    return sight_of(client, batch_id, key).stop(answer)


@router.post(
    "/stop-samples/close",
    summary="Draw nothing more from the sample that is open; the next is another attempt",
)
def close_stop_sample(batch_id: BatchId, client: Of, key: Reviewer) -> StopAnswer:
    answer = reading.close_stop_sample(client.batch(batch_id))
    return sight_of(client, batch_id, key).stop(answer)
