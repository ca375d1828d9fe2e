"""The metrics of a worker process for Prometheus: a separate registry, and hooks that cannot fail.

No label names a batch or an item. Users choose the names of models, so after `MODELS` names, further models have the
label `other`.

Waiting messages, work in flight and the use of limits are read at each scrape. A thread of the worker serves all
metrics at `/metrics`.
"""

import errno
import logging
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, field
from decimal import Decimal
from functools import cache, partial
from importlib.metadata import version
from socketserver import ThreadingMixIn
from typing import Self
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    Metric,
    disable_created_metrics,
    make_wsgi_app,
)
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from tamis_producer.process.tracing import quietly
from tamis_schemas import BrokerUnavailable

from ..limiter.limiter import Limiter
from ..llm.chat import Reply
from .measures import Measures

MODELS = 20
OTHER = "other"
LONGEST_NAME = 100  # characters of a model's name

CALL_SECONDS = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0, 120.0, 300.0)
ITEM_SECONDS = (0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 900.0, 3600.0)
WAIT_SECONDS = (0.001, 0.01, 0.1, 0.5, 1.0, 5.0, 15.0, 60.0, 300.0)
ENTRIES = (1, 2, 5, 10, 20, 50, 100, 200)

ASKED_WITHIN = 2.0  # s; a scrape waits no longer for the broker
FRESH = 1.0  # s; the broker's answer is reused for so long

NEIGHBOURS = 32  # ports that are tried, for so many workers on one machine
READ_WITHIN = 5.0  # s for a request to arrive

log = logging.getLogger(__name__)


# Metrics of creation times would add an unneeded second sample to each counter.
disable_created_metrics()  # type: ignore[no-untyped-call]  # untyped in the package


class Metrics(Measures):
    """The Prometheus metrics of a worker's work. Read the metrics through `registry`."""

    def __init__(self, *, redact: Callable[[str], str] = str) -> None:
        """Make the metrics. `redact` removes secrets from a label's text."""
        self.registry = registry = CollectorRegistry()
        self._redact = redact
        self._labels: dict[str, str] = {}  # of models, by the requested name
        counter, histogram = partial(Counter, registry=registry), partial(Histogram, registry=registry)
        info = Gauge("tamis_worker_info", "1; the running release.", ["version"], registry=registry)
        info.labels(version("tamis")).set(1)
        self._items = counter("tamis_items", "Items.", ["operation", "outcome"])
        self._item_seconds = histogram(
            "tamis_item_seconds", "From claim to outcome.", ["operation"], buckets=ITEM_SECONDS
        )
        self._claims = counter("tamis_claims", "Claims of items.", ["outcome"])
        self._granted, self._refused = (self._claims.labels(outcome) for outcome in ("granted", "refused"))
        self._calls = counter("tamis_llm_calls", "Calls that ended.", ["model", "outcome"])
        self._call_seconds = histogram(
            "tamis_llm_call_seconds", "From request to reply.", ["model"], buckets=CALL_SECONDS
        )
        self._tokens = counter("tamis_llm_tokens", "Paid tokens.", ["model", "kind"])
        self._cost = counter("tamis_llm_cost_dollars", "Cost of calls.", ["model"])
        self._unpriced = counter("tamis_llm_unpriced_calls", "Calls with an unknown cost.", ["model"])
        self._cache_hits = counter("tamis_cache_hits", "Questions answered from the cache.")
        self._waits = histogram("tamis_limiter_wait_seconds", "Waits for a permit.", ["model"], buckets=WAIT_SECONDS)
        self._swept = counter("tamis_reconciler_actions", "Repairs by the reconciler.", ["action"])
        self._foreign = counter("tamis_foreign_messages", "Messages that no worker understands.")
        self._groups = histogram("tamis_group_commit_entries", "Entries of one commit.", ["writer"], buckets=ENTRIES)
        # Looking up a child by its labels costs as much as counting.
        self._of_items = cache(self._items.labels)
        self._of_operation = cache(self._item_seconds.labels)
        self._of_calls = cache(self._calls.labels)
        self._of_label = cache(partial(_OfModel, self))
        self._of_writer = cache(self._groups.labels)

    @quietly
    def claimed(self, granted: bool) -> None:
        (self._granted if granted else self._refused).inc()

    @quietly
    def item(self, operation: str, outcome: str, seconds: float) -> None:
        self._of_items(operation, outcome).inc()
        self._of_operation(operation).observe(seconds)

    @quietly
    def permitted(self, model: str, waited: float) -> None:
        self._of_label(self.label(model)).waits.observe(waited)

    @quietly
    def called(self, model: str, outcome: str, reply: Reply, cost: Decimal | None) -> None:
        label = self.label(model)
        self._of_calls(label, outcome).inc()
        of_model = self._of_label(label)
        of_model.seconds.observe(reply.latency_ms / 1000)
        usage = reply.usage
        for count, of_kind in (
            (usage.prompt_tokens, of_model.input),
            (usage.completion_tokens, of_model.output),
            (usage.cached_tokens, of_model.cached),
            (usage.cache_write_tokens, of_model.written),
            (usage.reasoning_tokens, of_model.reasoning),
        ):
            if count:
                of_kind.inc(count)
        if cost is None:
            of_model.unpriced.inc()
        elif cost:
            of_model.cost.inc(float(cost))

    @quietly
    def found(self) -> None:
        self._cache_hits.inc()

    @quietly
    def wrote(self, writer: str, entries: int) -> None:
        self._of_writer(writer).observe(entries)

    @quietly
    def refused_message(self) -> None:
        self._foreign.inc()

    @quietly
    def swept(self, actions: Mapping[str, int]) -> None:
        for action, count in actions.items():
            self._swept.labels(action).inc(count)

    def label(self, model: str) -> str:
        """Return a model's label: its name, or `other` if there are too many models."""
        label = self._labels.get(model)
        if label is None:
            if len(self._labels) >= MODELS:
                return OTHER
            label = self._labels[model] = self._redact(model)[:LONGEST_NAME]
        return label


class _OfModel:
    """The metrics of one model."""

    __slots__ = ("cached", "cost", "input", "output", "reasoning", "seconds", "unpriced", "waits", "written")

    def __init__(self, metrics: Metrics, label: str) -> None:
        tokens = metrics._tokens
        self.input, self.output = tokens.labels(label, "input"), tokens.labels(label, "output")
        self.cached, self.reasoning = tokens.labels(label, "cached_input"), tokens.labels(label, "reasoning")
        self.written = tokens.labels(label, "cache_write")
        self.cost = metrics._cost.labels(label)
        self.unpriced = metrics._unpriced.labels(label)
        self.seconds = metrics._call_seconds.labels(label)
        self.waits = metrics._waits.labels(label)


class _Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True
    allow_reuse_port = False  # scrapes would alternate between two workers on one port


class _IPv6Server(_Server):
    address_family = socket.AF_INET6


class _Handler(WSGIRequestHandler):
    timeout = READ_WITHIN

    def log_message(self, *_: object) -> None:
        """Do nothing, so that scrapes are not logged."""


@dataclass(eq=False)
class Exposition:
    """The HTTP server that shows a registry's metrics, from `start` to `close`.

    If `port` is 0, the server uses any free port. If `port` is in use, the server tries the following ports.
    """

    registry: CollectorRegistry
    host: str
    port: int
    _server: WSGIServer | None = field(init=False, default=None)

    @property
    def url(self) -> str | None:
        """The URL of the metrics; None if the metrics are not served."""
        if self._server is None:
            return None
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self._server.server_port}/metrics"

    def start(self) -> Self:
        """Begin to serve. If no port is free, the worker logs a warning and works without metrics."""
        try:
            self._server = self._listening()
        except OSError as error:
            log.warning("no metrics: %s port %d: %s", self.host, self.port, error.strerror or error)
        else:
            threading.Thread(target=self._server.serve_forever, name="metrics", daemon=True).start()
            log.info("metrics at %s", self.url)
        return self

    @quietly
    def close(self) -> None:
        """Stop serving."""
        server, self._server = self._server, None
        if server is not None:
            server.shutdown()
            server.server_close()

    def _listening(self) -> WSGIServer:
        app = make_wsgi_app(self.registry)
        kind = _IPv6Server if ":" in self.host else _Server
        last = self.port + NEIGHBOURS if self.port else 1
        for port in range(self.port, min(last, 65_536)):
            try:
                return make_server(self.host, port, app, server_class=kind, handler_class=_Handler)
            except OSError as error:
                if error.errno != errno.EADDRINUSE:
                    raise
        raise OSError(errno.EADDRINUSE, f"in use, as are the ports up to {min(last, 65_536) - 1}")


class QueueDepths(Collector):
    """The collector of the metric `tamis_queue_messages`, which has no values while the broker does not answer."""

    def __init__(self, ask: Callable[[], Mapping[str, int]], *, within: float = ASKED_WITHIN) -> None:
        """Prepare the collector.

        `ask` returns the number of waiting messages per queue, or raises `BrokerUnavailable`. A scrape waits for `ask`
        at most `within` seconds.
        """
        self._ask = ask
        self._within = within
        self._lock = threading.Lock()
        self._asking: threading.Thread | None = None
        self._last: Mapping[str, int] | None = None
        self._read_at = 0.0

    def describe(self) -> Iterable[Metric]:
        """Return the metric without values, so that registration does not ask the broker."""
        return [self._family()]

    def collect(self) -> Iterator[Metric]:
        """Yield the present number of waiting messages in each queue."""
        family = self._family()
        for queue, depth in (self._depths() or {}).items():
            family.add_metric([queue], depth)
        yield family

    def _depths(self) -> Mapping[str, int] | None:
        with self._lock:  # concurrent scrapes share one request, even one without an answer
            thread = self._asking
            if thread is None or not thread.is_alive():
                if self._last is not None and time.monotonic() < self._read_at + FRESH:
                    return self._last
                self._last = None
                thread = self._asking = threading.Thread(target=self._learn, name="queue depths", daemon=True)
                thread.start()
        thread.join(self._within)
        return None if thread.is_alive() else self._last

    @quietly
    def _learn(self) -> None:
        try:
            depths = self._ask()
        except BrokerUnavailable:
            return
        self._last, self._read_at = depths, time.monotonic()

    @staticmethod
    def _family() -> GaugeMetricFamily:
        return GaugeMetricFamily("tamis_queue_messages", "Waiting messages, as this worker sees.", labels=["queue"])


@dataclass(eq=False)
class Present(Collector):
    """The collector of present figures: this process's items and calls in flight, and the used share of the limits.

    `label` returns the label of a model's name. If several models have the same label, only one of them is shown.
    """

    _: KW_ONLY
    items: Callable[[], int]
    holding_back: Callable[[], bool]
    limiters: Callable[[], Mapping[str, Limiter]]
    label: Callable[[str], str]

    def describe(self) -> Iterable[Metric]:
        """Return the metrics without values."""
        return self._families()

    def collect(self) -> Iterable[Metric]:
        """Return the metrics with their present values. Unknown values are omitted."""
        families = self._families()
        self._fill(families)
        return families

    @quietly
    def _fill(self, families: tuple[GaugeMetricFamily, ...]) -> None:
        items, holding, calls, limit, share = families
        items.add_metric([], self.items())
        holding.add_metric([], float(self.holding_back()))
        by_label = {self.label(model): limiter for model, limiter in self.limiters().items()}
        for model, limiter in by_label.items():
            in_flight, most = limiter.in_flight, limiter.concurrency
            calls.add_metric([model], in_flight)
            limit.add_metric([model], most)
            share.add_metric([model, "calls"], in_flight / most)
            if (used := limiter.share_of_requests) is not None:
                share.add_metric([model, "requests"], used)

    @staticmethod
    def _families() -> tuple[GaugeMetricFamily, ...]:
        model = ["model"]
        return (
            GaugeMetricFamily("tamis_items_in_flight", "Items in evaluation in this process."),
            GaugeMetricFamily("tamis_holding_back", "1 while Postgres or Redis fails or is slow."),
            GaugeMetricFamily("tamis_llm_calls_in_flight", "Calls in flight in this process.", labels=model),
            GaugeMetricFamily("tamis_limiter_calls", "Limit of calls in flight, for all workers.", labels=model),
            GaugeMetricFamily("tamis_limiter_used_ratio", "Share of a limit that is in use.", labels=[*model, "limit"]),
        )
