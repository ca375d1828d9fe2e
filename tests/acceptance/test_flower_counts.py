"""Flower's counters, pages and metrics over a batch with failures: the same numbers as the ledger's."""

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from llm_double import Double, Fault, Kind
from stage import WorkerProcess, abstracts, wait_until
from stage.browser import needs_chromium
from stage.flower_process import FlowerProcess, flower, secret_files
from tamis_producer import Batch, Client, ProducerSettings
from tamis_producer.transport.broker import make_app
from tamis_schemas import Counts, Filter
from tamis_schemas.batches.wire import item_label

TASK = "tamis.filter"
ITEMS, CANCELLED = 450, 50  # of the batch that is paused and resumed, and of the one that is cancelled
REFUSED = range(4, ITEMS, 10)  # one in ten fails: 45
STUMBLES = range(9, ITEMS, 90)  # whose first call fails, and the second one does not: 5
BEGUN = 100  # items of the first batch that end soon, and have ended before it is paused
IN_FLIGHT = 16  # calls; twice as many items wait for one
QUICK, SLOW = 0.05, 2.0  # s of a call
BOUND = 60.0  # s

DECISION = re.compile(r"(true|false) [01]\.\d\d")
FAULTS = [
    *(Fault(Kind.REFUSAL, contains=f"Title of record number {n}.") for n in REFUSED),
    *(Fault(Kind.SERVER_ERROR, contains=f"Title of record number {n}.", limit=1) for n in STUMBLES),
]
LATER = [Fault(Kind.SLOW, contains=f"Title of record number {n}.", delay=SLOW) for n in range(BEGUN, ITEMS)]


def shown(running: FlowerProcess, batch: Batch) -> Counter[str]:
    """The states of a batch's tasks, as Flower finds them."""
    return Counter(task["state"] for task in running.tasks(TASK, f"args:batch={batch.id[:8]}"))


def ends(counter: Counter[str]) -> tuple[int, int, int]:
    return counter["SUCCESS"], counter["FAILURE"], counter["REVOKED"]


def ended(counts: Counts) -> tuple[int, int, int]:
    return counts.decided, counts.failed, counts.cancelled


def seen_in_a_browser(browser: Browser, running: FlowerProcess, counts: Counts, picture: Path) -> None:
    """Both pages show what the ledger counts."""
    with running.page(browser) as page:
        page.goto(f"{running.url}/workers")
        expect(page.locator("#workers-failed")).to_have_text(str(counts.failed))
        expect(page.locator("#workers-succeeded")).to_have_text(str(counts.decided))
        page.screenshot(path=picture.with_suffix(".workers.png"))
        page.goto(f"{running.url}/tasks")
        page.locator("[data-task-state=FAILURE]").click()
        rows = page.locator("#tasks-table tbody tr")
        expect(rows.filter(has_text="FAILURE").first).to_contain_text("refused")
        expect(page.locator("#tasks-table_wrapper")).to_contain_text(re.compile(rf"of {counts.failed}\b"))
        page.screenshot(path=picture.with_suffix(".failures.png"))
        page.locator("[data-task-state=SUCCESS]").click()
        expect(rows.filter(has_text="SUCCESS").first).to_contain_text(DECISION)
        expect(page.locator("#tasks-table_wrapper")).to_contain_text(re.compile(rf"of {counts.decided}\b"))
        page.locator("[data-task-state='']").click()
        expect(rows).to_have_count(15)
        page.screenshot(path=picture.with_suffix(".tasks.png"))


@pytest.mark.night
@needs_chromium
def test_flower_counts_what_the_ledger_counts_while_a_batch_is_paused_and_after_it_and_another_have_ended(
    browser: Browser,
    client: Client,
    settings: ProducerSettings,
    double: Double,
    start_worker: Callable[..., WorkerProcess],
    tmp_path: Path,
) -> None:
    double.script(latency=QUICK, faults=[*FAULTS, *LATER])
    with flower(tmp_path, secret_files(tmp_path, settings)) as running:
        start_worker(concurrency=str(3 * IN_FLIGHT), limit_concurrency=str(IN_FLIGHT), pause_check_interval="0.1")
        wait_until(running.workers, within=BOUND, what="Flower hears of the worker")
        batch = client.submit(Filter(criteria="Is it plausible?"), abstracts(ITEMS), window=ITEMS // 50)
        wait_until(lambda: batch.status().counts.finished >= BEGUN, within=BOUND, what="a part of the batch has ended")
        wait_until(lambda: batch.status().counts.running > 2 * IN_FLIGHT, within=BOUND, what="items wait for a call")
        batch.pause()
        wait_until(lambda: batch.status().counts.running == 0, within=BOUND, what="waiting items are released")
        paused = batch.status().counts
        assert BEGUN <= paused.finished < ITEMS
        wait_until(
            lambda: ends(shown(running, batch)) == ended(paused), within=BOUND, what="Flower has heard all of it"
        )
        wait_until(lambda: not shown(running, batch)["STARTED"], within=BOUND, what="what waits is not shown as begun")
        wait_until(lambda: shown(running, batch)["RETURNED"] > 0, within=BOUND, what="what waited is shown as returned")
        seen_in_a_browser(browser, running, paused, tmp_path / "during")

        double.script(latency=QUICK, faults=FAULTS)
        batch.resume()
        assert batch.wait(timeout=BOUND).failed == len(REFUSED)
        double.script(latency=SLOW)
        other = client.submit(Filter(criteria="Is it something else?"), abstracts(CANCELLED))
        wait_until(
            lambda: other.status().counts.running > 2 * IN_FLIGHT, within=BOUND, what="the other batch has begun"
        )
        other.cancel()
        other.wait(timeout=BOUND)

        first, second = batch.status().counts, other.status().counts
        assert (first.decided, first.failed) == (ITEMS - len(REFUSED), len(REFUSED))
        assert second.decided + second.failed > 0
        assert second.cancelled > IN_FLIGHT
        totals = Counts(
            n_items=ITEMS + CANCELLED,
            decided=first.decided + second.decided,
            failed=first.failed + second.failed,
            cancelled=second.cancelled,
        )
        wait_until(
            lambda: ends(shown(running, batch) + shown(running, other)) == ended(totals),
            within=BOUND,
            what="Flower has heard of every end",
        )
        assert ends(shown(running, batch)) == ended(first)
        wait_until(lambda: not shown(running, batch)["STARTED"], within=BOUND, what="nothing is shown as begun")
        tasks = running.tasks(TASK)
        states = Counter(task["state"] for task in tasks)
        assert set(states) <= {"SUCCESS", "FAILURE", "REVOKED", "RETURNED", "SKIPPED"}
        failures = running.tasks(TASK, f"args:batch={batch.id[:8]} state:FAILURE")
        assert Counter(task["exception"] for task in failures) == {"refused": first.failed}
        told = {task["args"]: task["result"] for task in tasks if task["state"] == "SUCCESS"}
        for one in (batch, other):
            for row in one.results():
                label = item_label(one.id, row.index, row.item_id)
                if row.status == "decided":
                    assert told.pop(label) == f"{str(row.value).lower()} {row.result.confidence:.2f}"
        assert told == {}

        measured = running.measured(TASK)
        assert (measured["task-succeeded"], measured["task-failed"], measured["task-revoked"]) == ended(totals)
        # An item that waits for the cause of its failure at the pause is returned, and not asked again by this claim.
        assert len(STUMBLES) <= measured["task-retried"] <= double.count(status=500)
        assert measured["task-received"] == len(tasks) == sum(states.values())
        for event, count in measured.items():
            assert running.counted(event) == count, event
        assert {task["result"] for task in running.tasks("tamis.aggregate")} >= {"closed", "completed"}

        app = make_app(settings)
        inspect = app.control.inspect(timeout=5)
        (stats,), (active,) = inspect.stats().values(), inspect.active().values()
        app.close()
        assert stats["total"][TASK] == measured["task-received"]
        assert active == []

        everything = running.text("/api/tasks") + running.text("/metrics")
        for word in ("Title of record", "plausible", "something else"):
            assert word not in everything
        seen_in_a_browser(browser, running, totals, tmp_path / "after")
