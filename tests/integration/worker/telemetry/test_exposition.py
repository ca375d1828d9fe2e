"""The figures of a real worker, as Prometheus would scrape them."""

import socket
from collections.abc import Callable

from llm_double import Double, Fault, Kind
from stage import WorkerProcess, abstracts, wait_until
from stage.exposed import metrics_url, scraped, value
from tamis_producer import Client
from tamis_schemas import Filter

ASKED = Filter(criteria="Is this about oncology?")


def test_a_batch_is_counted_as_its_summary_counts_it(
    client: Client, start_worker: Callable[..., WorkerProcess], double: Double
) -> None:
    double.script(faults=[Fault(Kind.BAD_REQUEST, contains="number 3.")])
    worker = start_worker(metrics_port="0", limit_rpm="6000")
    batch = client.submit(ASKED, abstracts(30), shard_size=10)
    batch.wait(timeout=60)
    summary = batch.summary()
    assert summary is not None
    url = metrics_url(worker)
    wait_until(lambda: "tamis_items_in_flight 0.0" in scraped(url), within=10, what="the last item is let go")
    found = scraped(url)
    assert value(found, "tamis_items_total", operation="filter", outcome="decided") == 29
    assert value(found, "tamis_items_total", operation="filter", outcome="failed") == 1
    assert value(found, "tamis_item_seconds_count", operation="filter") == 30
    assert value(found, "tamis_claims_total", outcome="granted") == 30
    assert value(found, "tamis_llm_calls_total", model="double-1", outcome="ok") == 29
    assert value(found, "tamis_llm_calls_total", model="double-1", outcome="invalid_request") == 2
    assert value(found, "tamis_llm_tokens_total", kind="input") == summary.prompt_tokens
    assert value(found, "tamis_llm_tokens_total", kind="output") == summary.completion_tokens
    assert value(found, "tamis_limiter_wait_seconds_count", model="double-1") == 31
    assert value(found, "tamis_group_commit_entries_sum", writer="results") == 30
    assert value(found, "tamis_group_commit_entries_sum", writer="claims") == 30
    assert value(found, "tamis_queue_messages") == 0
    assert value(found, "tamis_llm_calls_in_flight", model="double-1") == 0
    assert value(found, "tamis_limiter_calls", model="double-1") == 64
    assert (
        0 < value(found, "tamis_limiter_used_ratio", model="double-1", limit="requests") < 0.02
    )  # 31 calls of 6,000 a minute, and permits taken ahead
    assert value(found, "tamis_holding_back") == 0


def test_a_cached_answer_is_a_hit_and_no_call(client: Client, start_worker: Callable[..., WorkerProcess]) -> None:
    worker = start_worker(metrics_port="0")
    for _ in range(2):
        client.submit(ASKED, abstracts(2)).wait(timeout=60)
    found = scraped(metrics_url(worker))
    assert value(found, "tamis_cache_hits_total") == 2
    assert value(found, "tamis_llm_calls_total") == 2


def test_two_workers_on_one_machine_are_scraped_apart(start_worker: Callable[..., WorkerProcess]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    urls = [metrics_url(start_worker(metrics_port=str(port))) for _ in range(2)]
    assert len(set(urls)) == 2
    for url in urls:
        assert value(scraped(url), "tamis_worker_info") == 1


def test_without_the_setting_nothing_listens(start_worker: Callable[..., WorkerProcess]) -> None:
    assert "metrics at" not in start_worker().text()
