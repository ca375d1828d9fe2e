"""What is looked up when Prometheus asks: how much waits, is in flight, and is left of the limits."""

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping

from prometheus_client import Metric
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from tamis_producer.process.tracing import quietly
from tamis_schemas import BrokerUnavailable

from ..limiter.limiter import Limiter

ASKED_WITHIN = 2.0  # s; a scrape does not wait longer for the broker
FRESH = 1.0  # s; what the broker said is told again for so long


class QueueDepths(Collector):
    """`tamis_queue_messages`: absent while the broker does not answer."""

    def __init__(self, ask: Callable[[], Mapping[str, int]], *, within: float = ASKED_WITHIN) -> None:
        """`ask` says how many messages wait in each queue, or raises `BrokerUnavailable`; it may take its time."""
        self._ask = ask
        self._within = within
        self._lock = threading.Lock()
        self._asking: threading.Thread | None = None
        self._last: Mapping[str, int] | None = None
        self._read_at = 0.0

    def describe(self) -> Iterable[Metric]:
        """Return its name alone: at its registration nobody is asked."""
        return [self._family()]

    def collect(self) -> Iterator[Metric]:
        """Yield the depths as the broker says them now."""
        family = self._family()
        for queue, depth in (self._depths() or {}).items():
            family.add_metric([queue], depth)
        yield family

    def _depths(self) -> Mapping[str, int] | None:
        with self._lock:  # several may scrape; one that hangs is not asked by another
            asking = self._asking
            if asking is None or not asking.is_alive():
                if self._last is not None and time.monotonic() < self._read_at + FRESH:
                    return self._last
                self._last = None
                asking = self._asking = threading.Thread(target=self._learn, name="queue depths", daemon=True)
                asking.start()
        asking.join(self._within)
        return None if asking.is_alive() else self._last

    @quietly
    def _learn(self) -> None:
        try:
            depths = self._ask()
        except BrokerUnavailable:
            return
        self._last, self._read_at = depths, time.monotonic()

    @staticmethod
    def _family() -> GaugeMetricFamily:
        return GaugeMetricFamily("tamis_queue_messages", "Messages that wait, as this worker sees.", labels=["queue"])


class Present(Collector):
    """The items and calls that this process has in flight, and how far the limits are used."""

    def __init__(
        self,
        *,
        items: Callable[[], int],
        holding_back: Callable[[], bool],
        limiters: Callable[[], Mapping[str, Limiter]],
        label: Callable[[str], str],
    ) -> None:
        """`label` makes a label of a model's name; those that get the same are told together."""
        self._items = items
        self._holding_back = holding_back
        self._limiters = limiters
        self._label = label

    def describe(self) -> Iterable[Metric]:
        """The names."""
        return self._families()

    def collect(self) -> Iterable[Metric]:
        """Return the present figures; what cannot be found out is left out."""
        families = self._families()
        self._fill(families)
        return families

    @quietly
    def _fill(self, families: tuple[GaugeMetricFamily, ...]) -> None:
        items, holding, calls, limit, share = families
        items.add_metric([], self._items())
        holding.add_metric([], float(self._holding_back()))
        by_label = {self._label(model): limiter for model, limiter in self._limiters().items()}
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
            GaugeMetricFamily("tamis_items_in_flight", "Items that this process evaluates."),
            GaugeMetricFamily("tamis_holding_back", "1 while Postgres or Redis is in trouble."),
            GaugeMetricFamily("tamis_llm_calls_in_flight", "Calls of this process.", labels=model),
            GaugeMetricFamily("tamis_limiter_calls", "Calls that all may have in flight.", labels=model),
            GaugeMetricFamily("tamis_limiter_used_ratio", "Of a limit, the share in use.", labels=[*model, "limit"]),
        )
