"""The used share of a provider's limit, and whether the limit is ever exceeded. The LLM double counts and enforces it.

In any 60 seconds, the double refuses the 6,001st request, and the tokens beyond 2,000,000. Requests are scarce with
short records, tokens with long records.
"""

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from llm_double import Double, Second, Tally
from tamis_producer import Batch

from .options import Options
from .parts import Ledger, Parts
from .records import LENGTH, QUESTION, records
from .report import Cell, Table

RPM, TPM = 6_000, 2_000_000
MINUTE = 60  # s
PROCESSES = 4
CONCURRENCY = 400  # calls in flight, all processes together: more than the limit can ever use
LATENCY = 1.0  # s
LENGTHS = {"requests": 200, "tokens": LENGTH}  # characters of a record, by what is scarce then
LOOK_EVERY = 0.5  # s
COLUMNS = (
    "scarce",
    "tokens/call",
    "share of the limit used",
    "requests/min",
    "tokens/min",
    "most requests in 60 s",
    "most tokens in 60 s",
    "429s",
    "windows over the limit",
)


@dataclass(frozen=True)
class Span:
    """The parts of a run."""

    ramp: int  # s at the start that do not count
    steady: int  # s that are measured

    @classmethod
    def of(cls, options: Options) -> "Span":
        return cls(ramp=10, steady=15) if options.short else cls(ramp=30, steady=3 * MINUTE)

    @property
    def calls(self) -> int:
        """A number of calls that the run cannot use up."""
        return math.ceil(1.1 * (self.ramp + self.steady + 10) * RPM / MINUTE)


def limit(parts: Parts, options: Options) -> list[Table]:
    """Measure the used share of requests or tokens in the steady part, and the fullest minute."""
    span = Span.of(options)
    processes = (options.processes or (PROCESSES,))[0]
    rows, notes = [], []
    for scarce, length in LENGTHS.items():
        options.say(f"limit: {scarce} are scarce, processes: {processes}, {span.ramp + span.steady} s")
        tally = _tally(parts, options, span, processes, length)
        rows.append(_row(scarce, span, tally))
        first = tally.seconds[0].second
        refused = [f"{one.refused} at {one.second - first} s" for one in tally.seconds if one.refused]
        notes += [f"429s where {scarce} are scarce: {', '.join(refused)}"] if refused else []
    setting = (
        f"{RPM:,} requests and {TPM:,} tokens in any {MINUTE} s, {processes} worker processes, {LATENCY:g} s latency; "
        f"{span.steady} s, after {span.ramp} s that do not count; 429s and the fullest {MINUTE} s are of the whole run"
    )
    notes.insert(0, setting)
    if span.steady < 2 * MINUTE:
        notes.append("a short run: less than two minutes of the limit, so its share says little")
    return [Table("Use of the limit", COLUMNS, rows, notes)]


@contextmanager
def limited(parts: Parts, processes: int) -> Iterator[tuple[Ledger, Double]]:
    """Yield a ledger and a double that enforces the limit, with worker processes that have the limit as a setting."""
    slots = {"concurrency": CONCURRENCY // processes, "limit_concurrency": CONCURRENCY}
    rates = {"limit_rpm": RPM, "limit_tpm": TPM}
    with (
        parts.ledger() as ledger,
        Double.start(remember=False, latency=LATENCY, rpm=RPM, tpm=TPM, sliding=True) as double,
        parts.workers(processes, ledger, double, **slots, **rates),
    ):
        yield ledger, double


def _tally(parts: Parts, options: Options, span: Span, processes: int, length: int) -> Tally:
    with limited(parts, processes) as (ledger, double):
        given = records(options.items or span.calls, length=length)
        batch = ledger.client.submit(QUESTION, given, use_cache=False)
        double.wait(calls=1, bound=MINUTE)
        watch(batch, span.ramp + span.steady + 1)  # the last second is whole then
        return double.tally()


def watch(batch: Batch, seconds: float) -> None:
    """Wait for so many seconds, or until the batch is finished."""
    end = time.monotonic() + seconds
    while time.monotonic() < end and not batch.status().state.terminal:
        time.sleep(LOOK_EVERY)


def _row(scarce: str, span: Span, tally: Tally) -> list[Cell]:
    seconds = steady_part(tally, span)
    requests, tokens = sum(one.requests for one in seconds), sum(one.tokens for one in seconds)
    per_minute = MINUTE / span.steady
    used = {"requests": requests * per_minute / RPM, "tokens": tokens * per_minute / TPM}
    return [
        scarce,
        tokens / requests if requests else None,
        used[scarce],
        requests * per_minute,
        tokens * per_minute,
        tally.most_requests,
        tally.most_tokens,
        sum(one.refused for one in tally.seconds),
        "none" if tally.most_requests <= RPM and tally.most_tokens <= TPM else "some",
    ]


def steady_part(tally: Tally, span: Span) -> list[Second]:
    """Return the measured seconds. A second without requests is missing, and counts as 0."""
    start = tally.seconds[0].second + 1 + span.ramp
    return [one for one in tally.seconds if start <= one.second < start + span.steady]
