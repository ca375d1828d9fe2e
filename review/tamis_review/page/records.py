"""The route of the table of decisions: records as people read them."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import StreamingResponse
from pydantic import Field

from tamis_producer.gateway import problems
from tamis_producer.gateway.access import Of, Reader
from tamis_producer.gateway.description import BatchId
from tamis_producer.gateway.etag import tagged
from tamis_producer.gateway.streams import Stream

from ..report.table import read_table
from .sight import sight_of

router = APIRouter(prefix="/v1/batches/{batch_id}", tags=["batches"], responses=problems.KEYED | problems.UNKNOWN)

MOST_PLACES = 500

Place = Annotated[int, Field(ge=0, lt=2**31)]  # as the ledger counts


@router.get(
    "/records",
    summary="Every record as the table of the report shows it: outcome, reason, verdicts, quotes and their places",
    response_class=StreamingResponse,
    responses=problems.UNCHANGED | {200: {"content": {"application/json": {}}}},
    dependencies=[Depends(tagged)],
)
async def get_records(
    request: Request,
    batch_id: BatchId,
    client: Of,
    key: Reader,
    index: Annotated[list[Place] | None, Query(max_length=MOST_PLACES, description="These items alone.")] = None,
) -> Stream:
    batch = await run_in_threadpool(client.batch, batch_id)
    found, pages = UUID(batch.id), request.app.state.pages
    sight = await run_in_threadpool(sight_of, client, batch.id, key)
    table = await run_in_threadpool(read_table, client.engine, found, whole=index is None)
    table = replace(table, hidden=sight.hidden)
    places = [] if table.left_out else None if index is None else sorted({*index})

    async def told() -> AsyncGenerator[str | bytes]:
        yield table.begins
        async with aclosing(pages.pieces(found, table.rows, places=places)) as pieces:
            async for piece in pieces:
                yield piece
        yield table.ends

    return Stream(told(), of=request.app.state.streams, key=key, media_type="application/json")
