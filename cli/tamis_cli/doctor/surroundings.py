"""The checks around the servers: clocks, time limits, workers with their queues, and the disk."""

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from difflib import get_close_matches

from tamis_producer.ledger.worker_view import WorkerState, WorkerView
from tamis_producer.runs.workers import Repairs
from tamis_producer.transport.blocks import WHY, Block, block_words, lifting

from .finding import Finding, failure, ok, ok_if, warning

SKEW = 30.0  # s
JOINS = 60  # s for the join of a chord; a message redelivered earlier would run the join twice
REPAIRED = {
    "released": "items of dead workers released",
    "lost": "lost messages replaced",
    "given_up": "items failed because their workers kept dying",
    "closed": "shards closed",
    "dispatched": "shards dispatched",
    "resumed": "batches resumed at the end of their pause",
    "begun": "review stages begun",
}
OTHER_VARIABLES = {"TAMIS_MODEL_DIR", "TAMIS_PERSON", "TAMIS_REVIEWER"}  # valid variables that are no settings
DISK_LEFT = 2_000_000_000  # bytes


def read_clock(ask: Callable[[], float]) -> tuple[float, float]:
    """Return the latency of the fastest of three answers, and the lead of the server's clock over this machine's.

    Both are in seconds. `ask`: returns the server's time.
    """
    best = (float("inf"), 0.0)
    for _ in range(3):
        wall, began = time.time(), time.perf_counter()
        theirs = ask()
        took = time.perf_counter() - began
        best = min(best, (took, theirs - (wall + took / 2)))
    return best


def judge_clocks(ahead: Mapping[str, float]) -> Finding:
    """Return the finding about clocks.

    `ahead`: seconds by which each server's clock is ahead of this machine's clock.
    """
    subject = "clocks"
    if not ahead:
        return warning(subject, "no server reported its time", "see above")
    far = {name: seconds for name, seconds in ahead.items() if abs(seconds) > SKEW}
    if not far:
        widest = max(abs(seconds) for seconds in ahead.values())
        return ok(subject, f"{' and '.join(ahead)} and this machine agree within {widest:.1f} s")
    which = ", ".join(
        f"{name}'s is {abs(s):.0f} s {'ahead of' if s > 0 else 'behind'} this machine's" for name, s in far.items()
    )
    mend = "set them by NTP. Leases and limits use the servers' clocks: no item is lost, messages may arrive twice"
    return warning(subject, which, mend)


def judge_names(environment: Collection[str], settings: Collection[str]) -> Iterator[Finding]:
    """Yield a warning for each variable `TAMIS_...` that is no setting, with the setting that is probably meant.

    `environment`: the names of all environment variables. `settings`: the names of the settings, in lower case.
    """
    variables = {f"TAMIS_{name.upper()}" for name in settings} | OTHER_VARIABLES
    for name in sorted(environment):
        if name.startswith("TAMIS_") and name not in variables and name.removesuffix("_FILE") not in variables:
            meant = get_close_matches(name, variables, n=1, cutoff=0.8)
            mend = f"write {meant[0]}" if meant else "see the names on the page Settings, or remove it"
            yield warning("settings", f"{name} is no setting, so it has no effect", mend)


def judge_times(*, visibility: float, item_deadline: float, call_timeout: float) -> Finding:
    """Return the finding about time limits, all in seconds.

    `visibility`: the time after which the broker delivers an unacknowledged message again. An item may take
    `item_deadline` and `call_timeout` together, so `visibility` should be longer.
    """
    subject = "time limits"
    longest = item_deadline + call_timeout
    line = f"an unacknowledged message is delivered again after {visibility:.0f} s; an item may take {longest:.0f} s"
    if visibility < JOINS:
        mend = f"set TAMIS_VISIBILITY_TIMEOUT to at least {JOINS}, better to {longest:.0f}"
        return failure(subject, f"{line}, and the end of a shard {JOINS} s", mend)
    if visibility < call_timeout:
        mend = f"set TAMIS_VISIBILITY_TIMEOUT to {longest:.0f}: the message of every slow call is delivered again"
        return warning(subject, line, mend)
    if visibility < longest:
        return ok(subject, f"{line}: it is still evaluated once, because a claim is granted once")
    return ok(subject, line)


def judge_workers(workers: Sequence[WorkerView], waiting: Mapping[str, int] | None, *, version: str) -> list[Finding]:
    """Return the findings about workers.

    `waiting`: the number of waiting messages by queue; None: unknown. `version`: the release of Tamis on this machine.
    """
    subject = "workers"
    messages = sum((waiting or {}).values())
    if not workers:
        mend = "start one with `tamis worker`, or `tamis up`"
        if messages:
            return [failure(subject, f"no worker is running, and {messages:,} messages wait", mend)]
        return [warning(subject, "no worker is running", mend)]
    plural = "" if len(workers) == 1 else "s"
    room = sum(worker.concurrency or 0 for worker in workers)
    findings = [ok(subject, f"{len(workers)} worker{plural}, room for {room} items, {messages:,} messages wait")]
    others = sorted({worker.version or "unknown" for worker in workers} - {version})
    if others:
        what = f"some run another release ({', '.join(others)}) than this one ({version})"
        findings.append(warning(subject, what, "install one release everywhere, and restart the workers one by one"))
    for worker in workers:
        if worker.state is WorkerState.HOLDING_BACK:
            what = f"{worker.pid}@{worker.host} takes no items: {worker.reason}"
            findings.append(warning(subject, what, "repair the cause; the worker continues by itself"))
    return findings


def judge_servers(in_ledger: Collection[str], in_redis: Collection[str]) -> Iterator[Finding]:
    """Yield a failure if this environment's ledger and Redis do not belong to the same workers.

    `in_ledger`, `in_redis`: the ids of the workers that report in the ledger, and in Redis.
    """
    if in_redis and not set(in_redis) & set(in_ledger):
        mend = "set TAMIS_DATABASE_URL here as for the workers"
        yield failure("workers", "those of this Redis use another ledger than TAMIS_DATABASE_URL", mend)
    elif in_ledger and not in_redis:
        mend = "set TAMIS_BROKER_URL here as for the workers"
        yield failure("workers", "those of this ledger use another Redis than TAMIS_BROKER_URL", mend)


def judge_repairs(repairs: Sequence[Repairs]) -> Finding:
    """Return the finding about past repairs, such as replaced messages. Repairs are normal, so it is no warning."""
    subject = "reconciler"
    done = [f"{REPAIRED[repair.kind]} {repair.total:,}" for repair in repairs if repair.kind in REPAIRED]
    if not done:
        return ok(subject, "no repair was ever needed")
    return ok(subject, f"repairs so far: {', '.join(done)}; last at {repairs[0].last_at:%Y-%m-%d %H:%M} UTC")


def judge_blocks(blocks: Sequence[Block]) -> list[Finding]:
    """Return the findings about blocked models: their endpoint asked workers to wait."""
    findings = [
        warning("limiter", f"{block_words([block])}: {WHY}", f"wait, or run {lifting([block])}") for block in blocks
    ]
    return findings or [ok("limiter", "it blocks no model")]


def judge_disk(where: str, left: int) -> Finding:
    """Return the finding about free disk space. `where`: the folder. `left`: free bytes."""
    line = f"{left / 1e9:,.1f} GB are free for {where}"
    return ok_if(left >= DISK_LEFT, "disk", line, "free some space: Postgres stops when the disk is full")
