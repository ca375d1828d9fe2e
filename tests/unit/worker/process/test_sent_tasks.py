"""What a worker answers to services: by the name of their task, and not before the ledger does."""

from collections.abc import Iterator
from typing import Any

import pytest

from tamis_schemas import InvalidParameters, LedgerUnavailable
from tamis_worker.celery_adapter.awaited_strategy import SentTask
from tamis_worker.config.settings import WorkerSettings
from tamis_worker.process import runtime as module
from tamis_worker.process.runtime import SentTasks

SETTINGS = WorkerSettings(
    broker_url="redis://h/0", database_url="postgresql+psycopg://h/d", llm_base_url="http://h/v1", model="m"
)


class Tasks:
    """In the place of the two tasks: an outage for a while, and then what is asked."""

    def __init__(self, outages: int) -> None:
        self.outages = outages

    async def evaluate(self, *asked: Any) -> Any:
        return self.submit(*asked)

    def submit(self, *asked: Any) -> Any:
        if self.outages:
            self.outages -= 1
            raise LedgerUnavailable("the ledger does not answer")
        if not asked[2]:
            raise InvalidParameters("items: Field required")
        return asked


@pytest.fixture
def sent_tasks(monkeypatch: pytest.MonkeyPatch) -> Iterator[SentTasks]:
    monkeypatch.setattr(module, "AGAIN_AFTER", 0)
    sent_tasks = SentTasks(SETTINGS)
    yield sent_tasks
    sent_tasks.close()


@pytest.mark.parametrize("name", ["tamis.submit", "tamis.evaluate"])
async def test_an_outage_of_the_ledger_is_waited_out_and_a_mistake_is_not(sent_tasks: SentTasks, name: str) -> None:
    sent_tasks._tasks = tasks = Tasks(outages=2)  # type: ignore[assignment]
    assert await sent_tasks.answer(SentTask("an id", name, [], {"a": 1})) == ("an id", [], {"a": 1})
    assert tasks.outages == 0
    with pytest.raises(InvalidParameters, match="Field required"):
        await sent_tasks.answer(SentTask("an id", name, [], {}))
