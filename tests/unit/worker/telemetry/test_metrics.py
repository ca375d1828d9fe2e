"""The figures for Prometheus: what is counted, under which labels, and that no fault of theirs is one of the work."""

import re
import socket
import threading
import time
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from stage.exposed import scraped, value
from tamis_producer.config.redaction import Redaction
from tamis_schemas import BrokerUnavailable, ErrorKind, Usage
from tamis_worker.llm.chat import CallError, ChatAnswer
from tamis_worker.telemetry.metrics import MODELS, OTHER, Exposition, Metrics, Present, QueueDepths

ANSWER = ChatAnswer("content", "m", Usage(100, 20, 40, 5), "stop", latency_ms=500)
REFUSED = CallError(ErrorKind.SERVER, "message", 500, latency_ms=250)


def text(metrics: Metrics) -> str:
    return generate_latest(metrics.registry).decode()


def test_calls_are_counted_with_their_tokens_and_their_cost() -> None:
    metrics = Metrics()
    metrics.called("m", "ok", ANSWER, Decimal("0.002"))
    metrics.called("m", "ok", ANSWER, Decimal("0.003"))
    metrics.called("m", "server", REFUSED, Decimal(0))
    metrics.called("n", "ok", ANSWER, None)
    found = text(metrics)
    assert value(found, "tamis_llm_calls_total", model="m", outcome="ok") == 2
    assert value(found, "tamis_llm_calls_total", model="m", outcome="server") == 1
    assert value(found, "tamis_llm_tokens_total", model="m", kind="input") == 200
    assert value(found, "tamis_llm_tokens_total", model="m", kind="output") == 40
    assert value(found, "tamis_llm_tokens_total", model="m", kind="cached_input") == 80
    assert value(found, "tamis_llm_tokens_total", model="m", kind="reasoning") == 10
    assert value(found, "tamis_llm_cost_dollars_total", model="m") == pytest.approx(0.005)
    assert value(found, "tamis_llm_cost_dollars_total", model="n") == 0
    assert value(found, "tamis_llm_unpriced_calls_total", model="n") == 1
    assert value(found, "tamis_llm_call_seconds_sum", model="m") == pytest.approx(0.5 + 0.5 + 0.25)


def test_items_claims_waits_groups_and_repairs_are_counted() -> None:
    metrics = Metrics()
    metrics.item("filter", "decided", 1.5)
    metrics.item("filter", "failed", 0.5)
    metrics.claimed(True)
    metrics.claimed(True)
    metrics.claimed(False)
    metrics.permitted("m", 0.25)
    metrics.wrote("results", 7)
    metrics.wrote("results", 13)
    metrics.found()
    metrics.swept({"lost": 3, "closed": 0})
    metrics.swept({"lost": 1, "closed": 2})
    metrics.refused_message()
    found = text(metrics)
    assert value(found, "tamis_items_total", operation="filter", outcome="decided") == 1
    assert value(found, "tamis_item_seconds_sum", operation="filter") == 2
    assert value(found, "tamis_claims_total", outcome="granted") == 2
    assert value(found, "tamis_claims_total", outcome="refused") == 1
    assert value(found, "tamis_limiter_wait_seconds_sum", model="m") == 0.25
    assert value(found, "tamis_group_commit_entries_sum", writer="results") == 20
    assert value(found, "tamis_group_commit_entries_count", writer="results") == 2
    assert value(found, "tamis_cache_hits_total") == 1
    assert value(found, "tamis_reconciler_actions_total", action="lost") == 4
    assert value(found, "tamis_reconciler_actions_total", action="closed") == 2
    assert value(found, "tamis_foreign_messages_total") == 1


def test_however_many_models_are_asked_for_their_labels_are_few() -> None:
    metrics = Metrics()
    for n in range(10 * MODELS):
        metrics.called(f"model-{n}", "ok", ANSWER, None)
        metrics.permitted(f"model-{n}", 0.0)
    metrics.called("x" * 5000, "ok", ANSWER, None)
    found = text(metrics)
    labels = set(re.findall(r'tamis_llm_calls_total\{model="([^"]*)"', found))
    assert len(labels) == MODELS + 1
    assert OTHER in labels
    assert value(found, "tamis_llm_calls_total") == 10 * MODELS + 1


def test_no_secret_and_no_text_of_an_item_is_a_label() -> None:
    metrics = Metrics(redact=Redaction(["hunter2-hunter2"]))
    metrics.called("model hunter2-hunter2", "ok", ANSWER, None)
    found = text(metrics)
    assert "hunter2" not in found
    assert 'model="model [secret]"' in found
    assert "content" not in found


def test_a_fault_in_a_figure_reaches_nobody() -> None:
    metrics = Metrics()
    broken: Any = object()
    metrics.called(broken, broken, broken, broken)
    metrics.item(broken, broken, broken)
    metrics.permitted(broken, broken)
    metrics.wrote(broken, broken)
    metrics.swept(broken)
    metrics.claimed(broken)
    metrics.item([], "unhashable", 1.0)  # type: ignore[arg-type]  # the point of it


# What is asked at a scrape


class Broker:
    """Says what waits, once it is let."""

    def __init__(self, *, error: Exception | None = None) -> None:
        self.asked = 0
        self.error = error
        self.answers = threading.Event()
        self.answers.set()

    def __call__(self) -> Mapping[str, int]:
        self.asked += 1
        self.answers.wait(30)
        if self.error is not None:
            raise self.error
        return {"tamis-normal-0": 3, "tamis-control": 0}


def depths(broker: Broker, *, within: float = 10.0) -> tuple[CollectorRegistry, QueueDepths]:
    registry = CollectorRegistry()
    collector = QueueDepths(broker, within=within)
    registry.register(collector)
    return registry, collector


def test_queues_are_asked_at_a_scrape_and_not_before() -> None:
    broker = Broker()
    registry, _ = depths(broker)
    assert broker.asked == 0
    found = generate_latest(registry).decode()
    assert value(found, "tamis_queue_messages", queue="tamis-normal-0") == 3
    assert value(found, "tamis_queue_messages", queue="tamis-control") == 0
    assert broker.asked == 1


def test_scrapes_in_quick_succession_ask_once() -> None:
    broker = Broker()
    registry, _ = depths(broker)
    for _ in range(5):
        generate_latest(registry)
    assert broker.asked == 1


@pytest.mark.parametrize("error", [BrokerUnavailable("away"), RuntimeError("a fault")])
def test_while_the_broker_is_away_there_is_no_depth(error: Exception) -> None:
    broker = Broker(error=error)
    registry, _ = depths(broker)
    assert "tamis_queue_messages{" not in generate_latest(registry).decode()
    broker.error = None
    assert "tamis_queue_messages{" in generate_latest(registry).decode()


def test_a_broker_that_hangs_holds_no_scrape_up_and_is_not_asked_twice() -> None:
    broker = Broker()
    broker.answers.clear()
    registry, collector = depths(broker, within=0.05)
    began = time.monotonic()
    for _ in range(3):
        assert "tamis_queue_messages{" not in generate_latest(registry).decode()
    assert time.monotonic() - began < 4
    assert broker.asked == 1
    broker.answers.set()
    assert collector._asking is not None
    collector._asking.join(10)
    assert "tamis_queue_messages{" in generate_latest(registry).decode()


class OneLimiter:
    """As far as a scrape sees it."""

    in_flight = 16
    concurrency = 64
    share_of_requests = 0.5


def present(limiters: Any) -> str:
    registry = CollectorRegistry()
    registry.register(Present(items=lambda: 5, holding_back=lambda: True, limiters=limiters, label=str))
    return generate_latest(registry).decode()


def test_what_is_in_flight_and_how_far_the_limits_are_used() -> None:
    found = present(lambda: {"m": OneLimiter()})
    assert value(found, "tamis_items_in_flight") == 5
    assert value(found, "tamis_holding_back") == 1
    assert value(found, "tamis_llm_calls_in_flight", model="m") == 16
    assert value(found, "tamis_limiter_calls", model="m") == 64
    assert value(found, "tamis_limiter_used_ratio", model="m", limit="calls") == 0.25  # 16 / 64
    assert value(found, "tamis_limiter_used_ratio", model="m", limit="requests") == 0.5


def test_what_cannot_be_looked_up_is_left_out() -> None:
    def fails() -> Mapping[str, Any]:
        raise RuntimeError("the limiters are closed")

    assert value(present(fails), "tamis_items_in_flight") == 5


# Where it is served


def test_the_figures_are_served_until_it_is_closed() -> None:
    metrics = Metrics()
    served = Exposition(metrics.registry, "127.0.0.1", 0).start()
    assert served.url is not None
    url = served.url
    assert value(scraped(url), "tamis_worker_info") == 1
    served.close()
    served.close()
    with pytest.raises(OSError, match="refused"):
        scraped(url)


def test_a_second_worker_takes_the_next_free_port() -> None:
    registry = Metrics().registry
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        served = Exposition(registry, "127.0.0.1", port).start()
        try:
            assert served.url is not None
            assert port < int(served.url.split(":")[2].split("/")[0]) < port + 32
        finally:
            served.close()


@pytest.mark.parametrize(("host", "port"), [("203.0.113.1", 9464), ("no.such.host.invalid", 9464), ("127.0.0.1", 1)])
def test_where_no_port_is_to_be_had_there_are_no_metrics(
    host: str, port: int, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    if port == 1:  # who tests as root may listen there

        def refused(*_: object, **__: object) -> None:
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr("tamis_worker.telemetry.metrics.make_server", refused)
    served = Exposition(Metrics().registry, host, port).start()
    assert served.url is None
    assert f"no metrics: {host} port {port}" in caplog.text
    served.close()
