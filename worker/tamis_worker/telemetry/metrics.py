"""The figures of a worker process as Prometheus reads them: a registry of its own, and hooks that cannot fail.

No label has a value for each batch or item. A model's name is a caller's text: beyond `MODELS` of them, further ones
are `other`.
"""

from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import cache, partial
from importlib.metadata import version

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics

from tamis_producer.process.tracing import quietly

from ..llm.chat import Reply
from .measures import Measures

MODELS = 20
OTHER = "other"
LONGEST_NAME = 100  # characters of a model's name

CALL_SECONDS = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0, 120.0, 300.0)
ITEM_SECONDS = (0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 900.0, 3600.0)
WAIT_SECONDS = (0.001, 0.01, 0.1, 0.5, 1.0, 5.0, 15.0, 60.0, 300.0)
ENTRIES = (1, 2, 5, 10, 20, 50, 100, 200)

# A second sample of each counter, which nobody here asks for.
disable_created_metrics()  # type: ignore[no-untyped-call]  # the package leaves it out


class Metrics(Measures):
    """Counts what a worker tells; read through `registry`."""

    def __init__(self, *, redact: Callable[[str], str] = str) -> None:
        """`redact` takes secrets out of a label's text."""
        self.registry = registry = CollectorRegistry()
        self._redact = redact
        self._labels: dict[str, str] = {}  # of models, by the name that was asked for
        info = Gauge("tamis_worker_info", "1; the release that runs.", ["version"], registry=registry)
        info.labels(version("tamis")).set(1)
        self._items = Counter("tamis_items", "Items.", ["operation", "outcome"], registry=registry)
        self._item_seconds = Histogram(
            "tamis_item_seconds", "From claim to outcome.", ["operation"], buckets=ITEM_SECONDS, registry=registry
        )
        self._claims = Counter("tamis_claims", "Claims of items.", ["outcome"], registry=registry)
        self._granted, self._refused = (self._claims.labels(outcome) for outcome in ("granted", "refused"))
        self._calls = Counter("tamis_llm_calls", "Calls that ended.", ["model", "outcome"], registry=registry)
        self._call_seconds = Histogram(
            "tamis_llm_call_seconds", "From request to reply.", ["model"], buckets=CALL_SECONDS, registry=registry
        )
        self._tokens = Counter("tamis_llm_tokens", "Tokens that were paid for.", ["model", "kind"], registry=registry)
        self._cost = Counter("tamis_llm_cost_dollars", "Cost of calls.", ["model"], registry=registry)
        self._unpriced = Counter(
            "tamis_llm_unpriced_calls", "Calls whose cost is not known.", ["model"], registry=registry
        )
        self._cache_hits = Counter("tamis_cache_hits", "Questions answered from the cache.", registry=registry)
        self._waits = Histogram(
            "tamis_limiter_wait_seconds", "Waits for a permit.", ["model"], buckets=WAIT_SECONDS, registry=registry
        )
        self._swept = Counter("tamis_reconciler_actions", "What was set going again.", ["action"], registry=registry)
        self._foreign = Counter("tamis_foreign_messages", "Messages that no worker understands.", registry=registry)
        self._groups = Histogram(
            "tamis_group_commit_entries", "Entries of one commit.", ["writer"], buckets=ENTRIES, registry=registry
        )
        # Looking up the child of some labels costs as much as counting does.
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
        """A model's name as a label."""
        label = self._labels.get(model)
        if label is None:
            if len(self._labels) >= MODELS:
                return OTHER
            label = self._labels[model] = self._redact(model)[:LONGEST_NAME]
        return label


class _OfModel:
    """The figures of one model."""

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
