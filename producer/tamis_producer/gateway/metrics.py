"""The gateway's metrics for Prometheus: its requests, and the number of batches in each state."""

import time
from collections.abc import Iterable, Iterator
from contextlib import suppress

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    Metric,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4 as CONTENT_TYPE
from prometheus_client.registry import Collector
from sqlalchemy import Engine, func, select
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tamis_schemas import BatchStatus, LedgerUnavailable
from tamis_schemas.ledger import batches

from ..ledger import ledger_errors
from ..process.tracing import quietly

__all__ = ["CONTENT_TYPE", "GatewayMetrics"]

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 15.0, 60.0, 300.0)
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
OTHER = "other"  # any unknown method or path, because callers invent them

# The library would add the time of creation of each counter, which is not needed here.
disable_created_metrics()  # type: ignore[no-untyped-call]  # the package leaves it out


class GatewayMetrics:
    """The metrics of a gateway, without labels for single batches or items."""

    def __init__(self, engine: Engine) -> None:
        """Register the metrics. `engine`: connects to the ledger, to count batches at every scrape."""
        self.registry = registry = CollectorRegistry()
        self._requests = Counter(
            "tamis_http_requests", "Requests that were answered.", ["method", "route", "status"], registry=registry
        )
        self._seconds = Histogram(
            "tamis_http_request_seconds",
            "From a request's beginning to the beginning of its answer.",
            ["method", "route"],
            buckets=SECONDS,
            registry=registry,
        )
        self._open = Gauge("tamis_http_open_requests", "Requests whose answer has not ended.", registry=registry)
        registry.register(_Batches(engine))

    def measured(self, app: ASGIApp) -> ASGIApp:
        """Return an ASGI application that counts and times the requests to `app`."""

        async def counting(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] != "http":
                await app(scope, receive, send)
                return
            began = time.perf_counter()

            async def telling(message: Message) -> None:
                if message["type"] == "http.response.start":
                    self._answered(scope, message["status"], time.perf_counter() - began)
                await send(message)

            with self._open.track_inprogress():
                await app(scope, receive, telling)

        return counting

    def exposition(self) -> bytes:
        """Return the metrics as text."""
        return generate_latest(self.registry)

    @quietly
    def _answered(self, scope: Scope, status: int, seconds: float) -> None:
        method = scope["method"] if scope["method"] in METHODS else OTHER
        route = getattr(scope.get("route"), "path", OTHER)
        self._requests.labels(method, route, str(status)).inc()
        self._seconds.labels(method, route).observe(seconds)


class _Batches(Collector):
    """The metric `tamis_batches`: the number of batches by state. It is empty while the ledger does not answer."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def describe(self) -> Iterable[Metric]:
        """Return the metric without values, so that registration needs no ledger."""
        return [self._family()]

    def collect(self) -> Iterator[Metric]:
        """Yield the present counts from the ledger."""
        family = self._family()
        counting = select(batches.c.state, func.count().label("n")).group_by(batches.c.state)
        with suppress(LedgerUnavailable), ledger_errors(), self._engine.connect() as connection:
            counts = {row.state: row.n for row in connection.execute(counting)}
            for state in BatchStatus:
                family.add_metric([state.value], counts.get(state.value, 0))
        yield family

    @staticmethod
    def _family() -> GaugeMetricFamily:
        return GaugeMetricFamily("tamis_batches", "Batches of the ledger.", labels=["state"])
