"""What a worker does while nobody knows whether its lease holds."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tamis_schemas import LedgerUnavailable
from tamis_worker.engine.backpressure import Backpressure, RequiredServer
from tamis_worker.liveness import vitals as module
from tamis_worker.liveness.vitals import LeaseKeeper

LEASE = 0.4  # s
BOUND = 10.0  # s


class Postgres:
    """Renews at once, or not before it answers again."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.answers = asyncio.Event()
        self.answers.set()
        self.renewed = 0
        self.fails = 0  # of the looks for items that others have taken
        self.backpressure = Backpressure()
        self.in_trouble: list[bool] = []  # at each of those looks
        monkeypatch.setattr(module.recovery, "renew_lease", self._renew)

    async def _renew(self, *_: Any, **__: Any) -> None:
        await self.answers.wait()
        self.renewed += 1

    async def after_renewal(self, expired: bool) -> None:
        if not expired:
            return
        self.in_trouble.append(self.backpressure.in_trouble(RequiredServer.LEDGER))
        if self.fails:
            self.fails -= 1
            raise LedgerUnavailable("away again")


@asynccontextmanager
async def held(postgres: Postgres) -> AsyncIterator[None]:
    keeper = LeaseKeeper(
        None,  # type: ignore[arg-type] # what would use it is replaced
        None,
        lambda: None,  # type: ignore[arg-type, return-value]
        postgres.backpressure,
        lease=LEASE,
        after_renewal=postgres.after_renewal,
    )
    task = asyncio.create_task(keeper.renew())
    try:
        async with asyncio.timeout(BOUND):
            yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def until(condition: Any) -> None:
    while not condition():  # noqa: ASYNC110 - what is awaited has no event
        await asyncio.sleep(0)


async def test_a_renewal_without_an_answer_for_a_lease_lets_no_call_begin(monkeypatch: pytest.MonkeyPatch) -> None:
    postgres = Postgres(monkeypatch)
    async with held(postgres):
        await until(lambda: postgres.renewed)
        postgres.answers.clear()
        await until(lambda: postgres.backpressure.calls_wait)
        postgres.in_trouble.clear()
        postgres.fails = 1  # then it is looked once more
        postgres.answers.set()
        await until(lambda: not postgres.backpressure.calls_wait)
        assert postgres.in_trouble[:2] == [True, True]  # nobody goes on before it is known which items others have
