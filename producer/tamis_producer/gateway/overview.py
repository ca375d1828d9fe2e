"""Routes of what a page shows first: whose key it was given, where else to look, the latest batches as they go."""

import asyncio
from collections.abc import AsyncIterator, Callable
from http import HTTPStatus
from importlib.metadata import version
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, Field, TypeAdapter

from tamis_schemas import TamisError

from ..api_keys import ApiKey, Scope
from ..client import Client
from ..redaction import shown_url
from . import problems
from .access import client_of, holder_of
from .progress import EVENTS, STREAMED
from .standing import Standing

router = APIRouter(prefix="/v1", tags=["overview"], responses=problems.KEYED)

LOOK_EVERY = 1.0  # s; one look counts the items of all batches that are listed
SILENCE = 5  # looks without news, after which a comment keeps proxies from hanging up
MOST_WATCHED = 100

Reader = Annotated[ApiKey, Depends(holder_of(Scope.READ))]
Of = Annotated[Client, Depends(client_of)]
_standings = TypeAdapter(list[Standing])


class About(BaseModel):
    """What runs here, and for whom."""

    version: str
    key: ApiKey
    flower_url: str | None = Field(description="Where Flower shows the tasks; its password is for operators alone.")


@router.get("/about", summary="What runs here, whose key it is, and what the key allows")
def about(client: Of, key: Reader) -> About:
    flower = client.settings.flower_url or (client.settings.stack and client.settings.stack.flower_url)
    return About(version=version("tamis"), key=key, flower_url=flower and shown_url(flower))


@router.get(
    "/events",
    summary="The latest batches as server-sent events, at every change",
    response_class=StreamingResponse,
    responses={HTTPStatus.OK: {"content": {EVENTS: {}}}},
)
async def events(
    request: Request, client: Of, _: Reader, limit: Annotated[int, Query(ge=1, le=MOST_WATCHED)] = 20
) -> StreamingResponse:
    told = latest(client, limit, request.app.state.stops)
    return StreamingResponse(told, media_type=EVENTS, headers=STREAMED)


async def latest(client: Client, limit: int, stops: Callable[[], bool]) -> AsyncIterator[str]:
    """`event: batches` with a list of `Standing` as JSON, the newest first, whenever one changed; until it `stops`."""
    before, silent = None, 0
    while not stops():
        try:
            views = await run_in_threadpool(client.batches, limit)
        except TamisError:  # the ledger is away: the next look may find it again
            views = None
        if views is not None:
            standings = [Standing.of(view) for view in views]
            now = [one.seen for one in standings]
            if now != before:
                before, silent = now, 0
                yield f"event: batches\ndata: {_standings.dump_json(standings).decode()}\n\n"
        silent += 1
        if silent % SILENCE == 0:
            yield ": still there\n\n"
        await asyncio.sleep(LOOK_EVERY)
