"""A worker's state at one moment, the reason why work waits, and the workers with a valid lease."""

from collections import defaultdict
from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Self

from tamis_schemas.values.frozen import Frozen

from .statements import RunsStatements

NO_WORKER = "no worker is running: start one with `tamis up` or `tamis worker`"
LIVE_WORKERS = """
SELECT id, host, pid, version, concurrency, in_flight, state, reason,
       extract(epoch FROM now() - state_since) AS state_for,
       extract(epoch FROM now() - started_at) AS running_for,
       extract(epoch FROM now() - progress_at) AS idle_for
  FROM workers WHERE lease_until > now()
"""


class WorkerState(StrEnum):
    """The present activity of a worker."""

    WORKING = "working"
    WAITING = "waiting"  # the endpoint accepts no calls for a while
    HOLDING_BACK = "holding back"  # no new items while a server is in trouble
    STOPPING = "stopping"  # only calls in flight are finished


class _Worker(Frozen):
    id: str
    host: str | None = None
    pid: int | None = None
    version: str | None = None  # of Tamis
    concurrency: int | None = None  # most items at once
    in_flight: int | None = None  # items at the moment
    state: WorkerState = WorkerState.WORKING
    reason: str | None = None  # of a state other than working


class WorkerReport(_Worker):
    """A worker's report about itself. Times are ages in seconds, so that the clocks of machines need not agree."""

    state_for: float | None = None  # s
    running_for: float = 0.0  # s
    idle_for: float | None = None  # s since the worker last started or finished an item; None: never yet


class WorkerView(_Worker):
    """One worker process; its times are by the reader's clock."""

    started_at: datetime
    state_since: datetime | None
    progress_at: datetime | None  # last start or end of an item

    @classmethod
    def of(cls, report: WorkerReport, now: datetime) -> Self:
        """Return the view of a report that was made just before `now`."""

        def before(age: float | None) -> datetime | None:
            return None if age is None else now - timedelta(seconds=age)

        return cls(
            **report.model_dump(exclude={"state_for", "running_for", "idle_for"}),
            started_at=now - timedelta(seconds=report.running_for),
            state_since=before(report.state_for),
            progress_at=before(report.idle_for),
        )


class NotWorking(Frozen):
    """A live worker that begins no items at the moment."""

    state: WorkerState
    reason: str | None = None
    seconds: float = 0.0  # s in this state


def why_waiting(live: int, others: Collection[NotWorking], now: datetime | None = None) -> str | None:
    """Return the reason why work waits or is slow, in one line; None if there is no reason.

    For example: `2 workers take no items: Postgres is full since 12:03`.

    Args:
        live: number of live workers.
        others: live workers. Those in the state `working` are ignored.
        now: the reader's clock, in the reader's time zone. None: this moment.
    """
    if live == 0:
        return NO_WORKER
    at = now or datetime.now(UTC).astimezone()
    groups: dict[tuple[WorkerState, str | None], list[NotWorking]] = defaultdict(list)
    for worker in others:
        if worker.state is not WorkerState.WORKING:
            groups[worker.state, worker.reason].append(worker)
    clauses = []
    for (state, reason), group in groups.items():
        since = at - timedelta(seconds=max(worker.seconds for worker in group))
        count = f"{len(group)} worker{'s' if len(group) > 1 else ''}"
        count = count if len(group) == live else f"{len(group)} of {live} workers"
        clauses.append(f"{count} {_does(state, len(group))}{f': {reason}' if reason else ''} since {since:%H:%M}")
    return "; ".join(clauses) or None


def _does(state: WorkerState, n: int) -> str:
    if state is WorkerState.HOLDING_BACK:
        return "takes no items" if n == 1 else "take no items"
    return f"{'is' if n == 1 else 'are'} {state.value}"


def read_live_workers(connection: RunsStatements) -> list[WorkerView]:
    """Return the workers with a valid lease, longest running first."""
    rows = connection.exec_driver_sql(LIVE_WORKERS, {})
    return views_of(
        [WorkerReport.model_validate({name: getattr(row, name) for name in WorkerReport.model_fields}) for row in rows]
    )


def views_of(reports: list[WorkerReport]) -> list[WorkerView]:
    """Return a view of each worker from reports that were just made, longest running first."""
    now = datetime.now(UTC)
    return [WorkerView.of(report, now) for report in sorted(reports, key=lambda entry: -entry.running_for)]
