"""Why a batch waits, in one line."""

from datetime import UTC, datetime, timedelta

import pytest

from tamis_producer.ledger.worker_view import (
    NO_WORKER,
    NotWorking,
    WorkerReport,
    WorkerState,
    WorkerView,
    why_waiting,
)

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
FULL = NotWorking(state=WorkerState.HOLDING_BACK, reason="Postgres is full", seconds=180)
FULL_LATER = FULL.model_copy(update={"seconds": 60})
BLOCKED = NotWorking(state=WorkerState.WAITING, reason="the endpoint accepts no calls to m", seconds=30)
STOPPING = NotWorking(state=WorkerState.STOPPING, seconds=120)


@pytest.mark.parametrize(
    ("live", "others", "line"),
    [
        (0, [], NO_WORKER),
        (2, [], None),
        (1, [FULL], "1 worker takes no items: Postgres is full since 11:57"),  # 12:00 less 180 s
        (2, [FULL, FULL_LATER], "2 workers take no items: Postgres is full since 11:57"),
        (3, [FULL, FULL_LATER], "2 of 3 workers take no items: Postgres is full since 11:57"),
        (3, [FULL], "1 of 3 workers takes no items: Postgres is full since 11:57"),
        (1, [STOPPING], "1 worker is stopping since 11:58"),
        (1, [BLOCKED], "1 worker is waiting: the endpoint accepts no calls to m since 11:59"),
        (
            2,
            [FULL, STOPPING],
            "1 of 2 workers takes no items: Postgres is full since 11:57; 1 of 2 workers is stopping since 11:58",
        ),
    ],
)
def test_the_line_says_who_waits_for_what_since_when(live: int, others: list[NotWorking], line: str | None) -> None:
    assert why_waiting(live, others, NOON) == line


def test_a_report_of_ages_becomes_times_of_the_readers_clock() -> None:
    report = WorkerReport(id="w", state_for=60, running_for=3600, idle_for=None)
    view = WorkerView.of(report, NOON)
    assert (view.state_since, view.started_at) == (NOON - timedelta(minutes=1), NOON - timedelta(hours=1))
    assert view.progress_at is None
