"""The memory of submitters, readers, the gateway and a worker for batches of different sizes. None holds a batch."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

import httpx2 as httpx
from sqlalchemy import text

from llm_double import Double
from tamis_cli.embedded.programs import Gateway
from tamis_producer import Batch
from tamis_producer.gateway import api_keys
from tamis_producer.gateway.api_keys import Scope

from .many_items import SMALL, peak_memory
from .options import Options
from .parts import ROOT, Ledger, Parts, clean_environment
from .report import Cell, Table

SIZES, SHORT_SIZES = (10_000, 1_000_000), (2_000, 20_000)
DECIDED = 5_000  # items that the worker decides, of a larger batch
DONE_WITHIN = 3_600.0  # s
COLUMNS = ("process", "items", "peak MB", "to the smallest", "s")
MEGABYTE = 1_000_000
ROUTES = {
    "results": "results",
    "results as CSV": "results?form=csv",
    "records": "records",
    "report as a page": "report",
    "report as JSON": "report?form=json",
}

# What a worker would have written of each item, without its evaluations and transcripts.
DECIDE = (
    "UPDATE batches SET state = 'running', pause = NULL WHERE id = :id AND state = 'paused'",
    "UPDATE item_states SET state = 'running', fence = fence + 1 WHERE batch_id = :id AND state = 'pending'",
    "INSERT INTO results (batch_id, idx, fence, round, value, confidence, reasoning, model, prompt_tokens, "
    "completion_tokens, calls, latency_ms) SELECT batch_id, idx, fence, 1, to_json(idx % 5 = 0), 0.9, "
    "'The record says so in its second sentence, and nothing speaks against it.', 'double-1', 400, 40, 1, 900 "
    "FROM item_states WHERE batch_id = :id AND state = 'running'",
    "UPDATE item_states SET state = 'decided' WHERE batch_id = :id AND state = 'running'",
    "UPDATE batches SET state = 'completed', finished_at = now() WHERE id = :id AND state = 'running'",
)


def process_memory(parts: Parts, options: Options) -> Table:
    """Measure the most resident memory of each process, with a new process for each size of the batch."""
    sizes = (options.items, 2 * options.items) if options.items else SHORT_SIZES if options.short else SIZES
    found: list[tuple[str, int, float, float]] = []
    for items in sizes:
        with parts.ledger(max_items=max(sizes)) as ledger, Double.start(remember=False) as double:
            options.say(f"memory of processes: {items:,} items are submitted")
            told = in_a_process(ledger, "submit", str(items), str(SMALL))
            found.append(("Client.submit of an iterator", items, told["peak"], told["seconds"]))
            batch = ledger.client.batch(told["batch"])
            options.say("memory of processes: a worker")
            found.append(("worker", items, *_worked(parts, ledger, double, batch)))
            decide_the_rest(ledger, batch)
            options.say("memory of processes: a reader")
            told = in_a_process(ledger, "read", batch.id)
            found.append(("Batch.results, to the end", items, told["peak"], told["seconds"]))
            options.say("memory of processes: the gateway")
            with _gateway(parts, ledger) as (pid, http):
                for name, route in ROUTES.items():
                    started = time.perf_counter()
                    with http.stream("GET", f"/v1/batches/{batch.id}/{route}") as answer:
                        answer.raise_for_status()
                        for _ in answer.iter_raw():
                            pass
                    seconds = time.perf_counter() - started
                    found.append((f"gateway, after {name}", items, peak_memory(pid), seconds))
    smallest = {what: peak for what, items, peak, _ in reversed(found)}
    rows: list[list[Cell]] = [
        [what, items, peak / MEGABYTE, peak / smallest[what], seconds] for what, items, peak, seconds in found
    ]
    notes = [
        f"VmHWM of processes of their own; items of {SMALL} characters; the gateway serves one route after the other",
        f"the worker decides {DECIDED:,} items, or all of a smaller batch; SQL decides the others before they are read",
    ]
    return Table("Memory of processes", COLUMNS, rows, notes)


def in_a_process(ledger: Ledger, *arguments: str) -> dict[str, Any]:
    """Return the output of `benchmarks.many_items`. Raise `CalledProcessError` if it fails."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.many_items", *arguments],
        cwd=ROOT,
        env=_environment(ledger),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        check=True,
        timeout=DONE_WITHIN,
    )
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def decide_the_rest(ledger: Ledger, batch: Batch) -> None:
    """Complete a batch by SQL."""
    with ledger.client.engine.begin() as connection:
        for statement in DECIDE:
            connection.execute(text(statement), {"id": batch.id})
    with ledger.client.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text("VACUUM ANALYZE"))


def _worked(parts: Parts, ledger: Ledger, double: Double, batch: Batch) -> tuple[int, float]:
    """Return peak and seconds of a worker that decides a part of a batch. Then the batch is paused."""
    started = time.perf_counter()
    with parts.workers(1, ledger, double) as (pid,):
        for view in batch.watch(DONE_WITHIN):
            if view.counts.decided >= DECIDED and not view.finished:
                batch.pause()
                break
        while batch.status().counts.running:
            time.sleep(0.2)
        return peak_memory(pid), time.perf_counter() - started


@contextmanager
def _gateway(parts: Parts, ledger: Ledger) -> Iterator[tuple[int, httpx.Client]]:
    """Yield the process id of a gateway, and an HTTP client with a key of the scope `read`."""
    home = parts.folder / f"gateway-{uuid4().hex[:8]}"
    gateway = Gateway(home, _environment(ledger), usual_port=None)
    gateway.launch()
    try:
        gateway.wait_until_healthy()
        key = api_keys.create(ledger.client.engine, "benchmark", [Scope.READ])
        headers = {"Authorization": f"Bearer {key}"}
        with httpx.Client(base_url=gateway.url, headers=headers, timeout=DONE_WITHIN, trust_env=False) as http:
            yield gateway.process.pid, http
    finally:
        gateway.process.kill()


def _environment(ledger: Ledger) -> dict[str, str]:
    settings = ledger.settings
    return clean_environment(
        {
            "TAMIS_BROKER_URL": settings.broker,
            "TAMIS_DATABASE_URL": settings.database,
            "TAMIS_MAX_ITEMS": str(settings.max_items),
        }
    )
