"""The order in which what evaluates items is opened and closed."""

from typing import Any

import pytest

from tamis_producer.config.redaction import Redaction
from tamis_producer.ledger import DISPATCH
from tamis_producer.ledger import connect as connect_producer
from tamis_producer.transport.broker import make_app
from tamis_producer.transport.dispatch import Dispatcher
from tamis_schemas import ConfigurationError
from tamis_worker.config.settings import WorkerSettings
from tamis_worker.engine.backpressure import Backpressure
from tamis_worker.engine.group_commit import GroupCommit
from tamis_worker.ledger.connection import LedgerEngines
from tamis_worker.process.evaluation_stack import EvaluationStack
from tamis_worker.telemetry.measures import NULL_MEASURES

NOWHERE = {
    "broker_url": "redis://127.0.0.1:1/0",
    "database_url": "postgresql+psycopg://127.0.0.1:1/tamis",
    "llm_base_url": "http://127.0.0.1:1/v1",
    "model": "m",
}
STARTED = ["cache look-ups", "cached answers", "spending", "claims", "results", "returns"]


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


def is_closed(evaluation: EvaluationStack) -> bool:
    return evaluation._llm._client.is_closed()


async def test_what_is_opened_is_closed_in_the_opposite_order(monkeypatch: pytest.MonkeyPatch) -> None:
    recorder, evaluation = Recorder(monkeypatch), stack()
    async with evaluation.opened():
        assert recorder.started == STARTED == [commit.name for commit in evaluation.commits]
        assert not is_closed(evaluation)
        assert recorder.closed == []
    assert recorder.closed == STARTED[::-1]
    assert all(commit.ended for commit in evaluation.commits)
    assert is_closed(evaluation)


async def test_what_was_opened_before_a_part_that_fails_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    recorder, evaluation = Recorder(monkeypatch, fails="spending"), stack()
    with pytest.raises(RuntimeError, match="no spending"):
        async with evaluation.opened():
            pytest.fail("it is not open")
    assert recorder.started == ["cache look-ups", "cached answers"]
    assert recorder.closed == ["spending", "cached answers", "cache look-ups"]
    assert [commit.ended for commit in evaluation.commits] == [True, True, False, False, False, False]
    assert is_closed(evaluation)


async def test_a_part_that_cannot_be_closed_keeps_no_other_open(monkeypatch: pytest.MonkeyPatch) -> None:
    recorder, evaluation = Recorder(monkeypatch), stack()
    monkeypatch.setattr(evaluation._writers.outcomes, "close", _cut)
    with pytest.raises(OSError, match="cut"):
        async with evaluation.opened():
            pass
    assert recorder.closed == [name for name in STARTED[::-1] if name != "results"]
    assert is_closed(evaluation)
    await GroupCommit.close(evaluation._writers.outcomes)


async def _cut() -> None:
    raise OSError("cut")


def test_a_setting_of_no_use_is_found_before_anything_is_opened() -> None:
    with pytest.raises(ConfigurationError, match="does not begin with http"):
        stack(llm_base_url="127.0.0.1:1")
