"""The order in which a worker process is opened and closed, without a server."""

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from tamis_producer.config.redaction import Redaction
from tamis_producer.transport.broker import make_app
from tamis_schemas import LedgerUnavailable
from tamis_worker.celery_adapter.item_strategy import ItemStrategy
from tamis_worker.config.settings import WorkerSettings
from tamis_worker.engine.batch_interrupts import BatchInterrupts
from tamis_worker.engine.group_commit import GroupCommit
from tamis_worker.event_loop.loop import BackgroundTasks
from tamis_worker.ledger import recovery
from tamis_worker.ledger.connection import LedgerEngines
from tamis_worker.process import runtime as module
from tamis_worker.process.runtime import Runtime
from tamis_worker.telemetry.metrics import Exposition


@pytest.fixture
def runtime(monkeypatch: pytest.MonkeyPatch) -> Iterator[Runtime]:
    monkeypatch.setattr(module, "demand", lambda engine: None)
    settings = WorkerSettings(
        broker_url="redis://127.0.0.1:1/0",
        database_url="postgresql+psycopg://127.0.0.1:1/tamis",
        llm_base_url="http://127.0.0.1:1/v1",
        model="m",
        metrics_host="127.0.0.1",
        metrics_port=0,
    )
    app = make_app(settings)
    runtime = Runtime(settings, app, Redaction.of(settings))
    yield runtime
    for mailbox in (runtime.deliveries.finished, runtime.sent.due, runtime.foreign.refused):
        mailbox.close()
    app.close()


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was opened and closed, each once, in order."""
    steps: list[str] = []

    def watch(owner: Any, name: str, step: str, *, real: bool = True) -> None:
        original = getattr(owner, name)

        def note() -> None:
            if step not in steps:
                steps.append(step)

        def plain(*args: Any, **kwargs: Any) -> Any:
            note()
            return original(*args, **kwargs) if real else _nothing()

        monkeypatch.setattr(owner, name, plain)

    watch(Exposition, "start", "metrics served")
    watch(recovery, "renew_lease", "lease taken", real=False)
    watch(GroupCommit, "start", "writers started")
    watch(BackgroundTasks, "start", "background begun")
    watch(BatchInterrupts, "stop", "waits ended")
    watch(ItemStrategy, "ended", "items finished")
    watch(BackgroundTasks, "end", "background ended")
    watch(GroupCommit, "close", "writers closed")
    watch(recovery, "end_lease", "lease given up", real=False)
    watch(Exposition, "close", "metrics ended")
    watch(LedgerEngines, "dispose", "ledger closed")
    return steps


async def _nothing() -> None:
    """No server is asked."""


def loops(runtime: Runtime) -> list[str]:
    own = runtime._loop._thread
    return [thread.name for thread in threading.enumerate() if thread is own]


OPENED = ["metrics served", "lease taken", "writers started", "background begun"]


def test_a_process_is_closed_in_the_opposite_order_and_gives_up_its_lease_after_the_last_write(
    runtime: Runtime, steps: list[str]
) -> None:
    with runtime.running():
        assert steps == OPENED
        assert loops(runtime)
    assert steps[len(OPENED) :] == [
        *("waits ended", "items finished", "background ended", "writers closed", "lease given up"),
        *("metrics ended", "ledger closed"),
    ]
    assert not loops(runtime)
    assert runtime.vitals.observe().stopping is not None


def test_a_process_whose_lease_is_refused_closes_what_it_opened_before(
    runtime: Runtime, steps: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(*_: Any, **__: Any) -> None:
        raise LedgerUnavailable("read-only")

    monkeypatch.setattr(recovery, "renew_lease", refuse)
    with pytest.raises(LedgerUnavailable, match="read-only"), runtime.running():
        pytest.fail("it does not run")
    assert steps == ["metrics served", "metrics ended", "ledger closed"]
    assert not loops(runtime)
