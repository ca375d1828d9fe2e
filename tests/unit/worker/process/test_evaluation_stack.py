"""The order in which what evaluates items is opened and closed."""

from collections.abc import Awaitable, Callable
from typing import Any
from uuid import uuid4

import pytest
from redis.asyncio import Redis

from tamis_producer.config.redaction import Redaction
from tamis_producer.ledger import DISPATCH
from tamis_producer.ledger import connect as connect_producer
from tamis_producer.transport.broker import make_app
from tamis_producer.transport.dispatch import Dispatcher
from tamis_schemas import ConfigurationError
from tamis_worker.config.settings import WorkerSettings
from tamis_worker.engine.backpressure import Backpressure
from tamis_worker.engine.budget import BudgetReservations
from tamis_worker.engine.group_commit import GroupCommit
from tamis_worker.ledger.claims import Claim, ItemKey
from tamis_worker.ledger.connection import LedgerEngines
from tamis_worker.limiter.limiter import Limiters
from tamis_worker.llm.llm import LlmClient
from tamis_worker.process.evaluation_stack import EvaluationStack
from tamis_worker.telemetry.measures import NULL_MEASURES

NOWHERE = {
    "broker_url": "redis://127.0.0.1:1/0",
    "database_url": "postgresql+psycopg://127.0.0.1:1/tamis",
    "llm_base_url": "http://127.0.0.1:1/v1",
    "model": "m",
}
STARTED = ["cache look-ups", "cached answers", "spending", "claims", "results", "returns", "cancellations"]
CLOSED = [  # the budget's last settlements are written before its writer is closed
    *("cancellations", "returns", "results", "claims", "settlements", "spending", "cached answers", "cache look-ups"),
    *("limiters", "llm", "redis"),
]


def stack(**settings: Any) -> EvaluationStack:
    worker = WorkerSettings(**(NOWHERE | settings))
    return EvaluationStack(
        worker,
        LedgerEngines.of(worker.database),
        Dispatcher(connect_producer(worker.database, DISPATCH), make_app(worker)),
        worker_id="w",
        backpressure=Backpressure(),
        measures=NULL_MEASURES,
        redact=Redaction.of(worker),
    )


class Recorder:
    """Which writers were started and which closed, in order."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, fails: str | None = None) -> None:
        self.started: list[str] = []
        self.closed: list[str] = []
        start, close = GroupCommit.start, GroupCommit.close

        async def started(commit: GroupCommit[Any, Any]) -> None:
            if commit.name == fails:
                raise RuntimeError(f"no {fails}")
            await start(commit)
            self.started.append(commit.name)

        async def closed(commit: GroupCommit[Any, Any]) -> None:
            await close(commit)
            self.closed.append(commit.name)

        monkeypatch.setattr(GroupCommit, "start", started)
        monkeypatch.setattr(GroupCommit, "close", closed)
        for owner, name, part in (
            *((BudgetReservations, "settled", "settlements"), (Limiters, "close", "limiters")),
            *((LlmClient, "close", "llm"), (Redis, "aclose", "redis")),
        ):
            monkeypatch.setattr(owner, name, self._noting(part, getattr(owner, name)))

    def _noting(self, part: str, original: Callable[..., Awaitable[None]]) -> Callable[..., Awaitable[None]]:
        async def noted(*args: Any) -> None:
            await original(*args)
            self.closed.append(part)

        return noted


async def test_what_is_opened_is_closed_in_the_opposite_order(monkeypatch: pytest.MonkeyPatch) -> None:
    recorder, evaluation = Recorder(monkeypatch), stack()
    async with evaluation.opened():
        assert recorder.started == STARTED == [commit.name for commit in evaluation.commits]
        assert recorder.closed == []
    assert recorder.closed == CLOSED
    assert all(commit.ended for commit in evaluation.commits)


async def test_what_was_opened_before_a_part_that_fails_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    recorder, evaluation = Recorder(monkeypatch, fails="spending"), stack()
    with pytest.raises(RuntimeError, match="no spending"):
        async with evaluation.opened():
            pytest.fail("it is not open")
    assert recorder.started == ["cache look-ups", "cached answers"]
    assert recorder.closed == CLOSED[CLOSED.index("spending") :]
    assert [commit.ended for commit in evaluation.commits] == [True, True, False, False, False, False, False]


async def test_a_part_that_cannot_be_closed_keeps_no_other_open(monkeypatch: pytest.MonkeyPatch) -> None:
    recorder, evaluation = Recorder(monkeypatch), stack()
    monkeypatch.setattr(evaluation._writers.outcomes, "close", _cut)
    with pytest.raises(OSError, match="cut"):
        async with evaluation.opened():
            pass
    assert recorder.closed == [part for part in CLOSED if part != "results"]
    await GroupCommit.close(evaluation._writers.outcomes)


async def test_an_item_is_held_from_its_claim_to_its_end_whatever_that_is(monkeypatch: pytest.MonkeyPatch) -> None:
    evaluation, key = stack(), ItemKey(uuid4(), 3)

    async def granted(asked: ItemKey) -> Claim:
        return Claim(asked, fence=1, item_id="r3", payload={})

    async def cut_off(*_: Any) -> None:
        assert key in evaluation.held
        assert evaluation.held == {key}
        raise OSError("cut")

    monkeypatch.setattr(evaluation._writers.claims, "submit", granted)
    monkeypatch.setattr(evaluation.evaluator, "_traced", cut_off)
    with pytest.raises(OSError, match="cut"):
        await evaluation.evaluator.evaluate(key)
    assert key not in evaluation.held


async def _cut() -> None:
    raise OSError("cut")


def test_a_setting_of_no_use_is_found_before_anything_is_opened() -> None:
    with pytest.raises(ConfigurationError, match="does not begin with http"):
        stack(llm_base_url="127.0.0.1:1")
