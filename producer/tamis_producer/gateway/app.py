"""The application: its routes, how it tells errors, and whether it is there."""

from collections.abc import Callable
from http import HTTPStatus
from importlib.metadata import version

from fastapi import FastAPI, Request
from fastapi.responses import PlainTextResponse, Response
from pydantic import BaseModel
from sqlalchemy import text
from starlette.middleware.base import RequestResponseEndpoint

from ..client import Client
from ..ledger import ledger_errors
from ..redaction import Redaction
from . import batches, explanations, files, overrides, overview, page, problems, records, services
from .compression import Compressed
from .description import SERVERS, Described
from .etag import Tagged
from .metrics import CONTENT_TYPE, Metrics
from .upload import LONGEST_TERMS

_UNREADY = problems.told(HTTPStatus.SERVICE_UNAVAILABLE)
LARGEST_BODY = 16_000_000  # bytes, of anything but a new batch: some thousands of abstracts


class Health(BaseModel):
    """That the process answers, or that the ledger does."""

    status: str = "ok"


def create_app(
    client: Client, *, largest_body: int = LARGEST_BODY, stops: Callable[[], bool] = lambda: False
) -> FastAPI:
    """The gateway over one client, which stays open.

    Args:
        client: what answers.
        largest_body: bytes of a request.
        stops: whether the server is about to stop; streams without an end of their own end then.
    """
    app = Described(
        title="Tamis",
        version=version("tamis"),
        summary="Push records through LLM evaluation and keep what passes.",
        servers=SERVERS,
        docs_url=None,  # they load scripts from elsewhere
        redoc_url=None,
    )
    app.state.client = client
    app.state.stops = stops
    problems.install(app, Redaction.of(client.settings))
    app.include_router(batches.router)
    app.include_router(records.router)
    app.include_router(explanations.router)
    app.include_router(files.router)
    app.include_router(overview.router)
    app.include_router(overrides.router)
    app.include_router(services.router)
    app.include_router(page.router)

    largest = {"/v1/batches": None, "/v1/files": client.settings.max_file_bytes + 2 * LONGEST_TERMS}

    @app.middleware("http")
    async def bounded(request: Request, answer: RequestResponseEndpoint) -> Response:
        """No body is read that does not say how large it is, or is too large; a new batch is counted as it comes."""
        most = largest.get(request.url.path, largest_body) if request.method == "POST" else largest_body
        response = (None if most is None else _refusal(request, most)) or await answer(request)
        response.headers["X-Content-Type-Options"] = "nosniff"
        response.headers.setdefault("Cache-Control", "no-store")
        return response

    app.add_middleware(Tagged)
    app.add_middleware(Compressed)
    metrics = Metrics(client.engine)
    app.add_middleware(metrics.measured)

    @app.get("/metrics", operation_id="get_metrics", summary="Figures for Prometheus", response_class=PlainTextResponse)
    def figures() -> Response:
        return Response(metrics.exposition(), media_type=CONTENT_TYPE)

    @app.get("/healthz", operation_id="get_health", summary="Whether the gateway answers")
    def healthz() -> Health:
        return Health()

    @app.get(
        "/readyz",
        operation_id="get_readiness",
        summary="Whether the ledger answers, without which nothing else does",
        responses=_UNREADY,
    )
    def readyz() -> Health:
        with ledger_errors(), client.engine.connect() as connection:
            connection.execute(text("SELECT 1"))
        return Health()

    return app


def _refusal(request: Request, largest: int) -> Response | None:
    if "transfer-encoding" in request.headers:
        told = "a request says its content-length, and is not sent in chunks"
        return problems.problem(HTTPStatus.LENGTH_REQUIRED, "length-required", "The length is missing", told)
    if int(request.headers.get("content-length", 0)) > largest:  # the server has seen to its being a number
        told = f"a request has {largest:,} bytes at most"
        return problems.problem(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "too-large", "The request is too large", told)
    return None
