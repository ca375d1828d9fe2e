"""The workers whose lease holds, as the ledger has them."""

from datetime import UTC, datetime

from .statements import RunsStatements
from .worker_view import WorkerReport, WorkerView

STATEMENT = """
SELECT id, host, pid, version, concurrency, in_flight, state, reason,
       extract(epoch FROM now() - state_since) AS state_for,
       extract(epoch FROM now() - started_at) AS running_for,
       extract(epoch FROM now() - progress_at) AS idle_for
  FROM workers WHERE lease_until > now()
"""
COLUMNS = tuple(WorkerReport.model_fields)


def read_live_workers(connection: RunsStatements) -> list[WorkerView]:
    """Return the workers whose lease holds, the longest there first."""
    rows = connection.exec_driver_sql(STATEMENT, {})
    return views_of([WorkerReport.model_validate({name: getattr(row, name) for name in COLUMNS}) for row in rows])


def views_of(reports: list[WorkerReport]) -> list[WorkerView]:
    """Return reports that were made just now as views, the longest there first."""
    now = datetime.now(UTC)
    return [WorkerView.of(report, now) for report in sorted(reports, key=lambda one: -one.running_for)]
