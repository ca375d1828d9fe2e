"""The time of the specification's tablizer endpoints for 50 items, compared with one call to the model, over HTTP."""

import statistics
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx2

from llm_double import Double
from tamis_cli.embedded.part import Part, answers
from tamis_cli.embedded.ports import HOST, free_port
from tamis_cli.embedded.process import Command
from tamis_producer.gateway.api_keys import Scope, create

from .options import Options
from .parts import Parts, clean_environment
from .records import QUESTION, records, request_body
from .report import Cell, Table, ratio, spread

ITEMS = 50
CONCURRENCY = 50  # calls in flight: what spec 1 has for one batch
LATENCY, SHORT_LATENCY = 2.0, 0.2  # s, of one call; two seconds are what a small hosted model takes for such an answer
REPETITIONS, SHORT_REPETITIONS = 7, 2
PATIENCE = 120.0  # s, for one answer
COLUMNS = ("endpoint", "items", "one call s", "median s", "each run", "to one call")


class Gateway(Part):
    """`tamis serve`, on a free port."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        super().__init__("gateway", folder / "gateway.log", environment)
        self._port = free_port()

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self._port}"

    def prepare(self) -> Command:
        return self.command(sys.executable, "-m", "tamis_cli", "serve", "--port", str(self._port))

    def healthy(self) -> bool:
        return answers(self.port, "/readyz")


def tablizer(parts: Parts, options: Options) -> list[Table]:
    """Measure the seconds from the request to the last byte of the answer, in turn with one call to the model."""
    items = options.items or ITEMS
    latency = SHORT_LATENCY if options.short else LATENCY
    repeated = options.repetitions or (SHORT_REPETITIONS if options.short else REPETITIONS)
    rows: list[list[Cell]] = []
    with parts.ledger() as ledger, Double.start(remember=False, latency=latency) as double:
        environment = clean_environment(
            {"TAMIS_BROKER_URL": ledger.settings.broker, "TAMIS_DATABASE_URL": ledger.settings.database}
        )
        key = create(ledger.client.engine, "benchmarks", [Scope.SUBMIT])
        slots: dict[str, Any] = {"concurrency": CONCURRENCY, "limit_concurrency": CONCURRENCY}
        with (
            parts.workers(1, ledger, double, **slots),
            Gateway(parts.folder, environment) as gateway,
            httpx2.Client(timeout=PATIENCE) as model,
            httpx2.Client(timeout=PATIENCE, headers={"Authorization": f"Bearer {key}"}) as http,
        ):
            one = request_body(records(1)[0])
            for name, path, more in (
                ("filter, boolean", "filter", {"criteria": QUESTION.criteria}),
                ("filter, number", "filter", {"criteria": QUESTION.criteria, "output_type": "number"}),
                ("extract", "extract", {"prompt": "What is the study design?"}),
            ):
                options.say(f"tablizer: {name}, {repeated} times {items} items")
                calls, whole = [], []
                for number in range(repeated + 1):
                    body = {"items": records(items, seed=1000 * len(rows) + number), **more}
                    calls.append(_seconds(model, f"{double.base_url}/chat/completions", one))
                    whole.append(_seconds(http, f"{gateway.url}/api/tablizer/{path}", body))
                del calls[0], whole[0]  # these opened every connection
                medians = statistics.median(calls), statistics.median(whole)
                rows.append([name, items, *medians, spread(whole), ratio(whole, calls)])
    note = f"one worker process, {latency:g} s latency, {CONCURRENCY} calls in flight; nothing from the cache"
    return [Table("The tablizer endpoints beside one call", COLUMNS, rows, [note])]


def _seconds(client: httpx2.Client, url: str, body: dict[str, Any]) -> float:
    began = time.perf_counter()
    client.post(url, json=body).raise_for_status()
    return time.perf_counter() - began
