"""Routes of what a page shows first: whose key it was given, where else to look, the latest batches as they go."""

from collections.abc import AsyncIterator, Callable
from http import HTTPStatus
from importlib.metadata import version
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, Field, TypeAdapter

from ..api_keys import ApiKey, Scope
from ..client import Client
from ..redaction import shown_url
from . import problems
from .access import client_of, holder_of
from .progress import COMMENT, EVENTS, STREAMED, followed
from .standing import Standing

router = APIRouter(prefix="/v1", tags=["overview"], responses=problems.KEYED)

LOOK_EVERY = 1.0  # s; one look counts the items of all batches that are listed
SILENCE = 5.0  # s without news
MOST_WATCHED = 100

Reader = Annotated[ApiKey, Depends(holder_of(Scope.READ))]
Of = Annotated[Client, Depends(client_of)]
_standings = TypeAdapter(list[Standing])


class About(BaseModel):
    """What runs here, and for whom."""

    version: str
    key: ApiKey
    flower_url: str | None = Field(description="Where Flower shows the tasks; its password is for operators alone.")


@router.get("/about", operation_id="get_about", summary="What runs here, whose key it is, and what the key allows")
def about(client: Of, key: Reader) -> About:
    flower = client.settings.flower_url or (client.settings.stack and client.settings.stack.flower_url)
    return About(version=version("tamis"), key=key, flower_url=flower and shown_url(flower))


@router.get(
    "/events",
    operation_id="follow_batches",
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

    def standings() -> list[Standing]:
        return [Standing.of(view) for view in client.batches(limit)]

    def seen(found: list[Standing]) -> list[object]:
        return [one.seen for one in found]

    async for found in followed(standings, seen, stops, every=LOOK_EVERY, silence=SILENCE):
        yield COMMENT if found is None else f"event: batches\ndata: {_standings.dump_json(found).decode()}\n\n"
