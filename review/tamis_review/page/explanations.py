"""The route of an explanation: one record's whole story."""

from http import HTTPStatus
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, HTTPException, Query
from fastapi.responses import PlainTextResponse, Response

from tamis_producer.gateway import problems
from tamis_producer.gateway.access import Of, Reader
from tamis_producer.gateway.description import BatchId, Index
from tamis_review.records import explain
from tamis_schemas import InvalidParameters

from ..explanation import Explanation
from ..explanation.words import as_text
from .sight import check_record_open

router = APIRouter(prefix="/v1/batches/{batch_id}", tags=["batches"], responses=problems.KEYED | problems.UNKNOWN)


@router.get(
    "/records/{index}/explanation",
    summary="One record's whole story: prompts as sent, answers, rules and formulas, human decisions, and the bill",
    response_model=Explanation,
    responses={HTTPStatus.OK: {"content": {"text/plain": {}}}},
    dependencies=[Depends(check_record_open)],
)
def explain_record(
    batch_id: BatchId,
    index: Index,
    client: Of,
    _: Reader,
    form: Annotated[Literal["json", "text"], Query(description="text: as people read it.")] = "json",
) -> Explanation | Response:
    batch = client.batch(batch_id)
    try:
        story = explain(batch, index)
    except InvalidParameters as error:
        raise HTTPException(HTTPStatus.NOT_FOUND, str(error)) from error
    return PlainTextResponse(as_text(story)) if form == "text" else story
