"""The time until the limit is used again after a storm: for a minute, every call is answered with status 429."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

from llm_double import Fault, Kind, Second

from .limit import LENGTHS, LOOK_EVERY, MINUTE, PROCESSES, RPM, limited, watch
from .options import Options
from .parts import Parts
from .records import QUESTION, records
from .report import Cell, Table

ENOUGH = 0.9  # of the limit
SPAN = 5  # s over which the rate is taken
RETRY_AFTER = {"absent": None, "10 s": "10"}
COLUMNS = ("Retry-After", "storm s", "share used before", "429s in the storm", "s until 90 % again", "items failed")


@dataclass(frozen=True)
class Course:
    """The parts of a run, in seconds."""

    calm: int  # before the storm
    storm: int
    watch: int  # at most, after the storm

    @classmethod
    def of(cls, options: Options) -> "Course":
        return cls(calm=10, storm=5, watch=30) if options.short else cls(calm=45, storm=60, watch=60)

    @property
    def calls(self) -> int:
        """A number of calls that the run cannot use up."""
        return int(1.1 * (self.calm + self.watch + 10) * RPM / MINUTE)


def recovery(parts: Parts, options: Options) -> list[Table]:
    """Measure the time from the end of the storm until 90 % of the limit is used, with and without a Retry-After."""
    course = Course.of(options)
    rows = []
    for name, retry_after in RETRY_AFTER.items():
        options.say(f"recovery: a storm of {course.storm} s, Retry-After {name}")
        rows.append(_row(parts, options, course, name, retry_after))
    note = (
        f"{RPM:,} requests a minute, {PROCESSES} worker processes; from the end of the storm to the beginning of the "
        f"first {SPAN} s in which {ENOUGH:.0%} of the limit is used"
    )
    return [Table("Recovery after a storm of 429s", COLUMNS, rows, [note])]


def _row(parts: Parts, options: Options, course: Course, name: str, retry_after: str | None) -> list[Cell]:
    processes = (options.processes or (PROCESSES,))[0]
    with limited(parts, processes) as (ledger, double):
        given = records(options.items or course.calls, length=LENGTHS["requests"])
        batch = ledger.client.submit(QUESTION, given, use_cache=False)
        double.wait(calls=1, bound=MINUTE)
        watch(batch, course.calm)
        began = time.monotonic()
        double.script(faults=[Fault(Kind.RATE_LIMITED, retry_after=retry_after)])
        watch(batch, course.storm)
        double.script(faults=[])
        ended = time.monotonic()
        found: float | None = None
        while found is None and time.monotonic() < ended + course.watch and not batch.status().state.terminal:
            time.sleep(LOOK_EVERY)
            found = recovered(double.tally().seconds, ended)
        seconds = double.tally().seconds
        before = [one.requests for one in seconds if began - SPAN - 1 <= one.second < began - 1]
        return [
            name,
            course.storm,
            sum(before) / (SPAN * RPM / MINUTE),
            sum(one.refused for one in seconds if began - 1 <= one.second <= ended),
            "not within the run" if found is None else found,
            batch.status().counts.failed,
        ]


def recovered(seconds: Sequence[Second], ended: float) -> float | None:
    """Return the seconds from `ended` to the first `SPAN` with enough requests; None if there is no such span yet."""
    counts = {one.second: one.requests for one in seconds}
    if not counts:
        return None
    last = max(counts)  # may be going on still
    for start in range(int(ended) + 1, last - SPAN + 1):
        if sum(counts.get(second, 0) for second in range(start, start + SPAN)) >= ENOUGH * SPAN * RPM / MINUTE:
            return start - ended
    return None
