"""Items per second and CPU without a rate limit, compared with two simple programs for the same work.

Every contestant asks the LLM double the same questions, 500 in flight, each answered after one second. Contestants take
turns, so that other work of the machine affects all alike.
"""

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from sqlalchemy import text

from llm_double import Double
from stage import wait_until
from tamis_cli.embedded.process import Command, Process

from .options import BARE, CONTESTANTS, NAIVE, TAMIS, Options
from .parts import Cpu, Ledger, Parts, clean_environment
from .records import QUESTION, records
from .report import Cell, Table, ratio, spread

IN_FLIGHT = 500
LATENCY = 1.0  # s
ITEMS, SHORT_ITEMS = 5_000, 1_000
REPETITIONS = 2
PROCESSES = (1, 2)
SCALING = (1, 2, 4)
READY_WITHIN = 60.0  # s
DONE_WITHIN = 1_800.0  # s
COLUMNS = (
    "contestant",
    "processes",
    "items/s",
    "each run",
    "to the bare loop",
    "worker CPU ms/item",
    "each run, ms",
    "CPU to the bare loop",
    "Postgres ms/item",
    "Valkey ms/item",
    "double ms/item",
)

FIRST_AND_LAST = text(
    "SELECT extract(epoch FROM max(r.created_at) - min(b.started_at)) "
    "FROM results r JOIN batches b ON b.id = r.batch_id WHERE r.batch_id = :id"
)


@dataclass(frozen=True)
class Measured:
    """One run of one contestant."""

    items: int
    seconds: float  # from the first dispatch to the last result
    cpu: Cpu

    @property
    def rate(self) -> float:
        return self.items / self.seconds

    def milliseconds(self, seconds: float) -> float:
        """Return milliseconds per item."""
        return 1000 * seconds / self.items


@dataclass(frozen=True)
class Contestant:
    """A program to measure, and its number of processes."""

    kind: str
    processes: int
    run: Callable[[Parts, int, int], Measured]  # arguments: parts, items, processes


def throughput(parts: Parts, options: Options) -> list[Table]:
    """Measure Tamis in one and two processes, and the bare loop and the naive Celery recipe in one process."""
    counts = options.processes or PROCESSES
    contestants = [
        Contestant(BARE, 1, run_bare),
        *(Contestant(TAMIS, processes, run_tamis) for processes in counts),
        Contestant(NAIVE, 1, run_naive),
    ]
    notes = []
    if find_spec("gevent") is None:
        contestants = [one for one in contestants if one.kind != NAIVE]
        notes.append("naive Celery recipe: left out, gevent is not installed (pip install '.[bench]')")
    chosen = [one for one in contestants if options.only is None or one.kind == options.only]
    return [_table("Throughput without a limit", parts, chosen, options, notes)]


def scaling(parts: Parts, options: Options) -> list[Table]:
    """Measure Tamis in one, two and four processes, with the same total of items in flight."""
    contestants = [Contestant(TAMIS, processes, run_tamis) for processes in options.processes or SCALING]
    return [_table("Scaling over processes", parts, contestants, options, [])]


def run_tamis(parts: Parts, items: int, processes: int) -> Measured:
    """Measure a batch through real workers, after a first batch that opens the connections."""
    with parts.ledger() as ledger, Double.start(remember=False, latency=LATENCY) as double:
        slots = {"concurrency": IN_FLIGHT // processes, "limit_concurrency": IN_FLIGHT}
        with parts.workers(processes, ledger, double, **slots) as pids:
            _decide(ledger, _warm_up(items), seed=2)
            before = parts.cpu(pids, double)
            seconds = _decide(ledger, items, seed=1)
            return Measured(items, seconds, parts.cpu(pids, double) - before)


def run_bare(parts: Parts, items: int, processes: int) -> Measured:
    """Measure the bare loop in a separate process."""
    with Double.start(remember=False, latency=LATENCY) as double:
        before = parts.cpu([], double)
        sizes = ["--items", str(items), "--in-flight", str(IN_FLIGHT), "--warm-up", str(_warm_up(items))]
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.bare_loop", double.base_url, *sizes],
            env=clean_environment({}),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
            timeout=DONE_WITHIN,
        )
        found = json.loads(done.stdout)
        used = parts.cpu([], double) - before
        share = items / (items + _warm_up(items))
        return Measured(items, found["seconds"], Cpu(found["cpu"], 0.0, 0.0, used.double * share))


def run_naive(parts: Parts, items: int, processes: int) -> Measured:
    """Measure the naive recipe. Its worker is a separate process, its producer this process."""
    with parts.ledger() as ledger, Double.start(remember=False, latency=LATENCY) as double:
        names = {"NAIVE_BROKER": f"{ledger.settings.broker}", "NAIVE_LLM": double.base_url}
        os.environ.update(names)
        from . import naive_celery  # it reads where its broker is when it is imported

        with _naive_worker(parts.folder, names) as worker:
            ping = naive_celery.app.control.ping
            wait_until(lambda: ping(timeout=1.0), within=READY_WITHIN, what="the naive worker answers")
            naive_celery.run(_warm_up(items), seed=2, timeout=DONE_WITHIN)
            before = parts.cpu([worker.pid], double)
            seconds = naive_celery.run(items, seed=1, timeout=DONE_WITHIN)
            return Measured(items, seconds, parts.cpu([worker.pid], double) - before)


@contextmanager
def _naive_worker(folder: Path, names: dict[str, str]) -> Iterator[Process]:
    command = ("-m", "celery", "-A", "benchmarks.naive_celery", "worker", "--pool", "gevent", "-l", "warning")
    worker = Process(
        Command(
            name="naive worker",
            argv=(sys.executable, *command, "--concurrency", str(IN_FLIGHT)),
            log=folder / "naive.log",
            env=clean_environment(names),
        )
    )
    try:
        yield worker
    finally:
        worker.kill()  # it keeps nothing that anybody needs


def _decide(ledger: Ledger, items: int, *, seed: int) -> float:
    """Return the seconds from a batch's first dispatch to its last result, by the ledger's clock."""
    batch = ledger.client.submit(QUESTION, records(items, seed=seed), use_cache=False)
    counts = batch.wait(timeout=DONE_WITHIN)
    if counts.decided != items:
        raise RuntimeError(f"of {items} items only {counts.decided} were decided: {counts}")
    with ledger.client.engine.connect() as connection:
        return float(connection.execute(FIRST_AND_LAST, {"id": batch.id}).scalar_one())


def _warm_up(items: int) -> int:
    """Return enough items to open every connection in every process."""
    return min(items, IN_FLIGHT)


def _table(
    title: str, parts: Parts, contestants: Sequence[Contestant], options: Options, notes: Sequence[str]
) -> Table:
    items = options.items or (SHORT_ITEMS if options.short else ITEMS)
    repetitions = options.repetitions or (1 if options.short else REPETITIONS)
    runs: list[list[Measured]] = [[] for _ in contestants]
    for turn in range(repetitions):
        for place, one in enumerate(contestants):
            options.say(f"{CONTESTANTS[one.kind]}, processes: {one.processes}, {items:,} items, run {turn + 1}")
            runs[place].append(one.run(parts, items, one.processes))
    bare = next((found for one, found in zip(contestants, runs, strict=True) if one.kind == BARE), [])
    rows = [_row(one, found, bare) for one, found in zip(contestants, runs, strict=True)]
    setting = (
        f"{items:,} items of 1.7 kB, {IN_FLIGHT} in flight, {LATENCY:g} s latency, {repetitions} interleaved runs, "
        "medians; start-up and a first batch that opens the connections are not measured"
    )
    return Table(title, COLUMNS, rows, [setting, *notes])


def _row(one: Contestant, found: Sequence[Measured], bare: Sequence[Measured]) -> list[Cell]:
    rates = [run.rate for run in found]
    workers = [run.milliseconds(run.cpu.workers) for run in found]
    return [
        CONTESTANTS[one.kind],
        one.processes,
        statistics.median(rates),
        spread(rates),
        ratio(rates, [run.rate for run in bare]),
        statistics.median(workers),
        spread(workers),
        ratio(workers, [run.milliseconds(run.cpu.workers) for run in bare]),
        statistics.median(run.milliseconds(run.cpu.postgres) for run in found),
        statistics.median(run.milliseconds(run.cpu.valkey) for run in found),
        statistics.median(run.milliseconds(run.cpu.double) for run in found),
    ]
