"""The loop of a worker's background tasks, by a clock that is counted."""

import asyncio
import logging

import pytest

from stage.counted_loop import CountedLoop
from tamis_schemas import LedgerUnavailable
from tamis_worker.event_loop.loop import Looper

INTERVAL = 10.0  # s
Outcome = float | Exception | None


def times_of(*outcomes: Outcome) -> list[float]:
    """Return the seconds at which steps began, if they end so; the step after the last outcome ends the loop."""
    began: list[float] = []
    left = list(outcomes)

    async def main() -> None:
        async def step() -> float | None:
            began.append(asyncio.get_running_loop().time())
            if not left:
                raise asyncio.CancelledError
            outcome = left.pop(0)
            if isinstance(outcome, Exception):
                raise outcome
            return outcome

        await Looper("sweep", step, INTERVAL).run()

    loop = CountedLoop()
    try:
        with pytest.raises(asyncio.CancelledError):
            loop.run_until_complete(main())
    finally:
        loop.close()
    return began


def test_a_step_begins_an_interval_after_the_one_before_or_after_the_pause_that_it_returns() -> None:
    assert times_of(None, 0.2, None) == [10.0, 20.0, 20.2, 30.2]


def test_a_step_that_fails_is_tried_again_after_an_interval(caplog: pytest.LogCaptureFixture) -> None:
    assert times_of(ValueError("a defect"), None) == [10.0, 20.0, 30.0]
    assert [(record.levelno, record.getMessage()) for record in caplog.records] == [(logging.ERROR, "sweep failed")]


def test_an_outage_is_said_once_until_a_step_works(caplog: pytest.LogCaptureFixture) -> None:
    away = LedgerUnavailable("Postgres does not answer")
    assert len(times_of(away, away, LedgerUnavailable("read-only"), None, away)) == 6
    assert caplog.messages == [
        "sweep postponed: Postgres does not answer",
        "sweep postponed: read-only",
        "sweep postponed: Postgres does not answer",
    ]
