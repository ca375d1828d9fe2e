"""The time of `tamis next` after a decision, and the time and memory of the order's refit in a second process."""

import random
import statistics
import time
from collections.abc import Callable, Iterator
from itertools import accumulate
from typing import Any

import psutil

from tamis_producer.process.waiting import BesideLoop
from tamis_review import decide, reading
from tamis_review.decisions.record_overrides import HumanDecision
from tamis_review.order.order_refits import PROGRAM

from .many_items import peak_memory
from .options import Options
from .parts import Ledger, Parts
from .process_memory import MEGABYTE, decide_the_rest
from .records import LENGTH, QUESTION
from .report import Cell, Table, spread

ITEMS, SHORT_ITEMS = 50_000, 6_000
DECISIONS = 1_000  # of people, before the first refit
REPETITIONS, SHORT_REPETITIONS = 5, 2
COLUMNS = ("step", "seconds", "each run", "CPU seconds", "peak MB of the process beside")

VOCABULARY = 60_000  # words, the n-th of which is written 1/n times as often as the first: so are abstracts
WORDS = 240  # of a record


def next_records(parts: Parts, options: Options) -> list[Table]:
    """Measure the next records of a batch: at first, after a decision, and after the refit that uses the decision."""
    count = options.items or (SHORT_ITEMS if options.short else ITEMS)
    repetitions = options.repetitions or (SHORT_REPETITIONS if options.short else REPETITIONS)
    steps: dict[str, list[float]] = {}
    cpu: dict[str, list[float]] = {}
    peaks: dict[str, int | None] = {}
    with parts.ledger() as ledger:
        ledger.client.waiting = BesideLoop()  # as the gateway's: the order is never worked out in this process
        options.say(f"what to read next: {count:,} records are submitted")
        batch = ledger.client.submit(QUESTION, _records(count))
        batch.pause()
        decide_the_rest(ledger, batch)

        def measured(step: str, do: Callable[[], Any]) -> Any:
            options.say(f"what to read next: {step}")
            started, used = time.perf_counter(), _cpu()
            done = do()
            steps.setdefault(step, []).append(time.perf_counter() - started)
            cpu.setdefault(step, []).append(_cpu() - used)
            peaks[step] = _peak()
            return done

        first = measured("the first answer: the model's order", lambda: reading.next_records(batch, 20))
        reading.order_refits(ledger.client).wait()
        draw = random.Random(2)  # noqa: S311 - nothing secret
        read = draw.sample(range(count), min(DECISIONS, count // 2) + repetitions)
        _decide(ledger, batch.id, read[:-repetitions])
        measured("an answer after these decisions", lambda: reading.next_records(batch, 20))
        measured("the refit that it begins, texts read for the first time", reading.order_refits(ledger.client).wait)
        for place in read[-repetitions:]:
            _decide(ledger, batch.id, [place])
            answer = measured("an answer after one more decision", lambda: reading.next_records(batch, 20))
            measured("the refit that it begins", reading.order_refits(ledger.client).wait)
            assert place not in {record.index for record in answer.records}  # noqa: S101 - else it measured nothing
        last = reading.next_records(batch, 20)
    rows: list[list[Cell]] = [
        [step, statistics.median(seconds), spread(seconds), statistics.median(cpu[step]), _megabytes(peaks[step])]
        for step, seconds in steps.items()
    ]
    notes = [
        f"{count:,} records of {LENGTH / 1000:.1f} kB; people had decided on {last.decided:,}, {last.included:,} of "
        f"them included; the first answer's order was made after {first.made_after} of these decisions, the last one's "
        f"after {last.made_after}",
        "the refit begins with the answer, which does not wait for it; peak: VmHWM of the process beside, so far",
    ]
    return [Table("What to read next", COLUMNS, rows, notes)]


def _decide(ledger: Ledger, batch_id: str, places: list[int]) -> None:
    """Store a person's decisions about records. One record in ten is included."""
    decisions = [HumanDecision(place, place % 10 == 0, "Reviewer A") for place in places]
    decide(ledger.client.batch(batch_id), decisions)


def _records(count: int) -> Iterator[dict[str, Any]]:
    """Yield records with as many different words as a real review has. These words determine a text model's time."""
    draw = random.Random(1)  # noqa: S311 - nothing secret
    letters = "etaoinshrdlu"
    words = ["".join(draw.choices(letters, k=draw.randint(3, 11))) for _ in range(VOCABULARY)]
    often = list(accumulate(1 / n for n in range(1, VOCABULARY + 1)))
    for number in range(count):
        text = " ".join(draw.choices(words, cum_weights=often, k=WORDS))[:LENGTH]
        yield {"id": f"rec-{number}", "title": text[:100], "abstract": text[100:]}


def _cpu() -> float:
    """Return the CPU seconds of this process and its children: the second process, and Postgres."""
    here = psutil.Process()
    times = [here.cpu_times(), *(child.cpu_times() for child in here.children(recursive=True))]
    return sum(one.user + one.system for one in times)


def _megabytes(peak: int | None) -> float | None:
    return None if peak is None else peak / MEGABYTE


def _peak() -> int | None:
    """Return the most memory of the second process; None while there is none."""
    for child in psutil.Process().children():
        if PROGRAM[-1] in child.cmdline():
            return peak_memory(child.pid)
    return None
