"""The application: its routes, how it tells errors, and whether it is there."""

from collections.abc import Callable
from functools import partial
from http import HTTPStatus
from importlib.metadata import version

import anyio
from anyio import to_thread
from fastapi import APIRouter, FastAPI
from fastapi.responses import PlainTextResponse, Response
from fastapi.routing import APIRoute
from pydantic import BaseModel
from sqlalchemy import text

from tamis_review.page import (
    audit_routes,
    duplicates_route,
    explanations,
    export_route,
    figure_routes,
    files,
    gold_routes,
    judgement_routes,
    mode_routes,
    next_route,
    override_routes,
    page,
    records,
    remark_routes,
    review_routes,
    stop_routes,
    work_route,
)
from tamis_review.page.upload import LONGEST_TERMS
from tamis_schemas import LedgerUnavailable

from ..client.client import Client
from ..config.redaction import Redaction
from ..ledger import ledger_errors
from ..process.waiting import BesideLoop
from . import batches, dry_run_route, overview, problems, services
from .compression import Compressed
from .description import SERVERS, Described
from .dry_run_route import AT_ONCE, Rehearse, nothing_renders
from .etag import EntityTags
from .frame import Frame
from .lookout import Lookout, look
from .metrics import CONTENT_TYPE, GatewayMetrics
from .pages import Pages
from .pool_watch import STUCK_AFTER, PoolWatch
from .streams import OpenStreams
from .turns import Turns
from .written import ReportWriters
from .wrong_keys import WrongKeys

_UNREADY = problems.described(HTTPStatus.SERVICE_UNAVAILABLE)
KEYLESS = 2  # threads for callers without a key
LARGEST_BODY = 16_000_000  # bytes, of anything but a new batch: some thousands of abstracts
ROUTERS = tuple(
    part.router
    for part in (
        *(audit_routes, batches, records, dry_run_route, duplicates_route, work_route, review_routes, explanations),
        *(export_route, figure_routes, files, gold_routes, judgement_routes, overview, mode_routes, next_route),
        *(override_routes, remark_routes, stop_routes, services, page),
    )
)


def _called(route: APIRoute) -> str:
    """What generated clients call a route: as its function is called."""
    return route.name


# One for all applications of a process: what FastAPI makes of included routes is most of what an application takes.
ALL_ROUTES = APIRouter(generate_unique_id_function=_called)
for _router in ROUTERS:
    ALL_ROUTES.include_router(_router)


class Health(BaseModel):
    """The answer of a process that is alive, or whose ledger is."""

    status: str = "ok"


def create_app(
    client: Client,
    *,
    largest_body: int = LARGEST_BODY,
    stops: Callable[[], bool] = lambda: False,
    rehearse: Rehearse = nothing_renders,
) -> FastAPI:
    """The gateway over one client, which stays open.

    Args:
        client: what answers.
        largest_body: bytes of a request.
        stops: whether the server is about to stop; streams without an end of their own end then.
        rehearse: what a planned batch would ask and cost; prompts are rendered where they are sent from.
    """
    app = Described(
        title="Tamis",
        version=version("tamis"),
        summary="Push records through LLM evaluation and keep what passes.",
        servers=SERVERS,
        routes=[*ALL_ROUTES.routes],
        generate_unique_id_function=_called,
        docs_url=None,  # they load scripts from elsewhere
        redoc_url=None,
    )
    client.waiting = BesideLoop()
    app.state.client = client
    app.state.stops = stops
    app.state.streams = OpenStreams()
    app.state.pages = Pages(client.engine)
    app.state.writers = ReportWriters()
    app.state.rehearse = rehearse
    app.state.dry_runs = anyio.CapacityLimiter(AT_ONCE)
    app.state.previews = anyio.CapacityLimiter(duplicates_route.AT_ONCE)
    app.state.lookout = Lookout(partial(look, client), stops)
    app.state.wrong_keys = WrongKeys()
    problems.install(app, Redaction.of(client.settings))

    of_files = client.settings.max_file_bytes + 2 * LONGEST_TERMS
    of_batch = ("decisions", "evaluation", "calibration")
    forms = ("/v1/files", "/v1/dry-run", "/v1/duplicates", *(f"/v1/batches/{{batch_id}}/{name}" for name in of_batch))
    largest_of = {"/v1/batches": None} | dict.fromkeys(forms, of_files)
    app.add_middleware(Frame, largest=largest_body, largest_of=largest_of)
    app.add_middleware(EntityTags)
    app.add_middleware(Compressed)
    metrics = GatewayMetrics(client.engine)
    app.add_middleware(Turns)
    app.add_middleware(metrics.measured)

    # Who has no key is answered from the ledger, too: by two threads, however many ask.
    keyless = anyio.CapacityLimiter(KEYLESS)

    @app.get("/metrics", summary="Figures for Prometheus", response_class=PlainTextResponse)
    async def get_metrics() -> Response:
        figures_text = await to_thread.run_sync(metrics.exposition, limiter=keyless)
        return Response(figures_text, media_type=CONTENT_TYPE)

    pool = PoolWatch(client.engine)

    @app.get(
        "/healthz",
        summary="Whether the gateway answers, and gets connections to the ledger",
        responses=_UNREADY,
    )
    async def get_health() -> Health:
        """503 where for a minute no connection came free. It asks neither for one nor for a thread."""
        if pool.stuck:
            raise LedgerUnavailable(f"no connection to the ledger came free for {STUCK_AFTER:g} s")
        return Health()

    @app.get(
        "/readyz",
        summary="Whether the ledger answers, without which nothing else does",
        responses=_UNREADY,
    )
    async def get_readiness() -> Health:
        await to_thread.run_sync(_ask, client, limiter=keyless)
        return Health()

    return app


def _ask(client: Client) -> None:
    """Return where the ledger answers. Raises `LedgerUnavailable`."""
    with ledger_errors(), client.engine.connect() as connection:
        connection.execute(text("SELECT 1"))
