"""Routes of what a page shows first: whose key it was given, where else to look, the latest batches as they go."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from http import HTTPStatus
from importlib.metadata import version
from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, Field, TypeAdapter

from ..config.redaction import shown_url
from ..ledger.batch_view import ServiceTraffic
from . import problems
from .access import Of, Reader
from .api_keys import ApiKey
from .batch_status_view import BatchStatusView
from .description import OfReview
from .lookout import COMMENT, EVENTS, STREAMED, Lookout
from .streams import Stream

router = APIRouter(prefix="/v1", tags=["overview"], responses=problems.KEYED)

SILENCE = 5.0  # s without news
MOST_WATCHED = 100
MOST_HOURS = 24 * 7

_standings = TypeAdapter(list[BatchStatusView])


class About(BaseModel):
    """The running version, and the key that asks."""

    version: str
    key: ApiKey
    flower_url: str | None = Field(description="Where Flower shows the tasks; its password is for operators alone.")


@router.get("/about", summary="What runs here, whose key it is, and what the key allows")
def get_about(client: Of, key: Reader) -> About:
    flower = client.settings.flower_url or (client.settings.stack and client.settings.stack.flower_url)
    return About(version=version("tamis"), key=key, flower_url=flower and shown_url(flower))


@router.get(
    "/events",
    summary="The latest batches as server-sent events, at every change; those of no review alone, at the same changes",
    response_class=StreamingResponse,
    responses={HTTPStatus.OK: {"content": {EVENTS: {}}}},
)
async def follow_batches(
    request: Request,
    key: Reader,
    limit: Annotated[int, Query(ge=1, le=MOST_WATCHED)] = 20,
    review: OfReview = None,
) -> Stream:
    updates = latest(request.app.state.lookout, limit, of_no_review=review is not None)
    return Stream(updates, of=request.app.state.streams, key=key, media_type=EVENTS, headers=STREAMED)


@router.get(
    "/service-traffic",
    summary="Single calls of services, counted by service and hour",
)
def get_service_traffic(
    client: Of, _: Reader, hours: Annotated[int, Query(ge=1, le=MOST_HOURS)] = 24
) -> list[ServiceTraffic]:
    return client.service_traffic(hours)


async def latest(lookout: Lookout, limit: int, *, of_no_review: bool = False) -> AsyncGenerator[str | bytes]:
    """`event: batches` with a list of `BatchStatusView` as JSON, the newest first, whenever one changed."""
    follow = lookout.of_no_review if of_no_review else lookout.latest
    async with aclosing(follow(limit, silence=SILENCE)) as looks:
        async for views in looks:
            if views is None:
                yield COMMENT
            else:
                standings = _standings.dump_json([BatchStatusView.of(view) for view in views]).decode()
                yield f"event: batches\ndata: {standings}\n\n"
