"""The route of the table of decisions: records as people read them."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Query
from fastapi.responses import StreamingResponse
from pydantic import Field

from ..api_keys import ApiKey, Scope
from ..client import Client
from ..report.table import table_json
from . import problems
from .access import client_of, holder_of
from .description import BatchId
from .etag import tagged

router = APIRouter(prefix="/v1/batches/{batch_id}", tags=["batches"], responses=problems.KEYED | problems.UNKNOWN)

MOST_PLACES = 500

Reader = Annotated[ApiKey, Depends(holder_of(Scope.READ))]
Of = Annotated[Client, Depends(client_of)]
Place = Annotated[int, Field(ge=0, lt=2**31)]  # as the ledger counts


@router.get(
    "/records",
    operation_id="get_records",
    summary="Every record as the table of the report shows it: outcome, reason, verdicts, quotes and their places",
    response_class=StreamingResponse,
    responses=problems.UNCHANGED | {200: {"content": {"application/json": {}}}},
    dependencies=[Depends(tagged)],
)
def records(
    batch_id: BatchId,
    client: Of,
    _: Reader,
    index: Annotated[list[Place] | None, Query(max_length=MOST_PLACES, description="These items alone.")] = None,
) -> StreamingResponse:
    found = UUID(client.batch(batch_id).id)
    return StreamingResponse(table_json(client.engine, found, index), media_type="application/json")
