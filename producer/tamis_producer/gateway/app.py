"""The application: its routes, its error responses, and its health."""

import time
from collections.abc import Callable
from functools import cache, partial
from http import HTTPStatus
from importlib.metadata import version

import anyio
from anyio import to_thread
from fastapi import APIRouter, FastAPI
from fastapi.responses import PlainTextResponse, Response
from fastapi.routing import APIRoute
from pydantic import BaseModel
from sqlalchemy import Engine, event, text
from sqlalchemy.pool import QueuePool

from tamis_schemas import LedgerUnavailable

from ..client.client import Client
from ..config.redaction import Redaction
from ..ledger import ledger_errors
from ..process.waiting import BesideLoop
from . import batch_routes, problems, services
from .batch_watcher import BatchWatcher, look
from .description import SERVERS, Described
from .etag import EntityTags
from .extension import Application
from .frame import Compressed, Heads, LargeBodies, RequestLimits, Turns
from .metrics import CONTENT_TYPE, GatewayMetrics
from .pages import Pages
from .streams import OpenStreams
from .wrong_keys import WrongKeys

_UNREADY = problems.described(HTTPStatus.SERVICE_UNAVAILABLE)
KEYLESS = 2  # threads for callers without a key
STUCK_AFTER = 60.0  # s
LARGEST_BODY = 16_000_000  # bytes of any request except a new batch: some thousands of abstracts
ROUTERS = (batch_routes.router, batch_routes.batch_router, batch_routes.overview_router, services.router)


def _called(route: APIRoute) -> str:
    """Return the operation id for generated clients: the name of the route's function."""
    return route.name


@cache
def _routes(application: type[Application]) -> APIRouter:
    """Return the gateway's routes.

    The routes are made once in a process, because making them is the largest cost of creating a gateway.
    """
    together = APIRouter(generate_unique_id_function=_called)
    for router in (*ROUTERS, *application.routers):
        together.include_router(router)
    return together


class Health(BaseModel):
    """The answer to a health check that succeeds."""

    status: str = "ok"


class PoolWatch:
    """A watch on an engine's connection pool, which notices when the pool is stuck."""

    def __init__(self, engine: Engine, clock: Callable[[], float] = time.monotonic) -> None:
        """Begin to watch. `engine` must have a connection pool with a limit."""
        assert isinstance(engine.pool, QueuePool)  # noqa: S101 - true of every engine for Postgres
        self._pool = engine.pool
        self._clock = clock
        self._moved = clock()
        event.listen(self._pool, "checkout", self._changed_hands)
        event.listen(self._pool, "checkin", self._changed_hands)

    @property
    def stuck(self) -> bool:
        """True if all connections are in use, and no connection was taken or released for a minute."""
        lent = self._pool.checkedout() >= self._pool.size() + self._pool._max_overflow
        return lent and self._clock() - self._moved >= STUCK_AFTER

    def _changed_hands(self, *_: object) -> None:
        self._moved = self._clock()


def create_app(
    client: Client,
    *,
    application: Application,
    largest_body: int = LARGEST_BODY,
    stops: Callable[[], bool] = lambda: False,
) -> FastAPI:
    """Return the gateway as an ASGI application. The gateway never closes `client`.

    Args:
        client: answers the requests.
        application: adds routes, and rules for access. There is no default, because without rules the gateway would
            show hidden decisions.
        largest_body: most bytes of a request, except on routes that allow more.
        stops: returns True when the server is about to stop. Endless streams then end.
    """
    app = Described(
        title="Tamis",
        version=version("tamis"),
        summary="Push records through LLM evaluation and keep what passes.",
        servers=SERVERS,
        routes=[*_routes(type(application)).routes],
        generate_unique_id_function=_called,
        docs_url=None,  # they load scripts from other sites
        redoc_url=None,
    )
    client.waiting = BesideLoop()
    app.state.client = client
    app.state.stops = stops
    app.state.streams = OpenStreams()
    app.state.large_bodies = LargeBodies()
    app.state.pages = Pages(client.engine)
    app.state.application = application
    app.state.watcher = BatchWatcher(partial(look, client), stops)
    app.state.wrong_keys = WrongKeys()
    problems.install(app, Redaction.of(client.settings))

    application.prepare(app, client)
    largest_of = {"/v1/batches": None, **application.largest_bodies(client)}
    app.add_middleware(RequestLimits, largest=largest_body, largest_of=largest_of)
    app.add_middleware(EntityTags)
    app.add_middleware(Compressed)
    metrics = GatewayMetrics(client.engine)
    app.add_middleware(Turns)
    app.add_middleware(Heads)
    app.add_middleware(metrics.measured)

    # Requests without a key read the ledger too, on two threads for all of them.
    keyless = anyio.CapacityLimiter(KEYLESS)

    @app.get("/metrics", summary="Metrics for Prometheus", response_class=PlainTextResponse)
    async def get_metrics() -> Response:
        return Response(await to_thread.run_sync(metrics.exposition, limiter=keyless), media_type=CONTENT_TYPE)

    pool = PoolWatch(client.engine)

    @app.get("/healthz", summary="Whether the gateway answers, and gets connections to the ledger", responses=_UNREADY)
    async def get_health() -> Health:
        """Answer 503 if all connections were in use for a minute, and none was released.

        The check needs no connection.
        """
        if pool.stuck:
            raise LedgerUnavailable(f"no connection to the ledger became free for {STUCK_AFTER:g} s")
        return Health()

    @app.get("/readyz", summary="Whether the ledger answers; all routes under /v1 need it", responses=_UNREADY)
    async def get_readiness() -> Health:
        await to_thread.run_sync(_ask, client, limiter=keyless)
        return Health()

    return app


def _ask(client: Client) -> None:
    """Raise `LedgerUnavailable` if the ledger does not answer."""
    with ledger_errors(), client.engine.connect() as connection:
        connection.execute(text("SELECT 1"))
