"""Group commit: nothing is lost while the ledger is away, and one bad entry spoils nobody else's."""

import asyncio
from collections.abc import Sequence

import pytest

from tamis_schemas import LedgerUnavailable
from tamis_schemas.ledger.outages import LedgerConflict
from tamis_worker.engine.backpressure import Backpressure
from tamis_worker.engine.group_commit import (
    BUSY,
    GATHER,
    GATHER_BUSY,
    LARGEST_GROUP,
    QUIET,
    GroupCommit,
    gathering,
)


class Ledger:
    """Remembers the groups it was given; away, or refusing an entry, as told."""

    def __init__(self) -> None:
        self.groups: list[list[int]] = []
        self.away_for = 0
        self.refused: set[int] = set()
        self.gate = asyncio.Event()
        self.gate.set()
        self.entered = asyncio.Event()

    async def write(self, entries: Sequence[int]) -> Sequence[int]:
        self.entered.set()
        await self.gate.wait()
        if self.away_for:
            self.away_for -= 1
            raise LedgerUnavailable("away")
        if self.refused & set(entries):
            raise ValueError("refused")
        self.groups.append(list(entries))
        return [entry * 10 for entry in entries]


async def test_everybody_gets_their_own_reply() -> None:
    ledger = Ledger()
    commit = GroupCommit("numbers", ledger.write)
    await commit.start()
    assert await asyncio.gather(*(commit.submit(n) for n in range(50))) == [n * 10 for n in range(50)]
    await commit.close()


async def test_what_comes_while_one_group_is_written_forms_the_next() -> None:
    ledger = Ledger()
    commit = GroupCommit("numbers", ledger.write)
    await commit.start()
    ledger.gate.clear()
    first = asyncio.create_task(commit.submit(0))
    await asyncio.wait_for(ledger.entered.wait(), 10)
    others = [asyncio.create_task(commit.submit(n)) for n in range(1, 40)]
    ledger.gate.set()
    await asyncio.gather(first, *others)
    assert ledger.groups == [[0], list(range(1, 40))]
    await commit.close()


async def test_no_group_is_larger_than_the_bound() -> None:
    ledger = Ledger()
    commit = GroupCommit("numbers", ledger.write)
    waiting = [asyncio.create_task(commit.submit(n)) for n in range(3 * LARGEST_GROUP)]
    await asyncio.sleep(0)
    await commit.start()
    await asyncio.gather(*waiting)
    assert max(map(len, ledger.groups)) == LARGEST_GROUP
    await commit.close()


async def test_entries_are_kept_until_the_ledger_is_back() -> None:
    ledger = Ledger()
    ledger.away_for = 3
    commit = GroupCommit("numbers", ledger.write)
    await commit.start()
    assert await asyncio.wait_for(commit.submit(7), 10) == 70
    await commit.close()


async def test_nothing_else_is_begun_while_entries_are_kept() -> None:
    ledger = Ledger()
    ledger.away_for = 3
    backpressure = Backpressure()
    commit = GroupCommit("numbers", ledger.write, backpressure=backpressure)
    await commit.start()
    kept = asyncio.create_task(commit.submit(7))
    await asyncio.wait_for(ledger.entered.wait(), 10)
    await asyncio.sleep(0)
    assert backpressure.trouble is not None
    assert backpressure.trouble.reason == "away"
    await asyncio.wait_for(kept, 10)
    assert backpressure.trouble is None
    await commit.close()


async def test_a_group_that_takes_too_long_is_trouble_until_it_is_written() -> None:
    ledger = Ledger()
    ledger.gate.clear()
    backpressure = Backpressure()
    commit = GroupCommit("numbers", ledger.write, backpressure=backpressure, slow=0.0)
    await commit.start()
    slow = asyncio.create_task(commit.submit(1))
    await asyncio.wait_for(ledger.entered.wait(), 10)
    await asyncio.sleep(0.01)  # longer than 0 s
    assert backpressure.trouble is not None
    assert backpressure.trouble.reason == "numbers wait for Postgres for more than 0 s"
    ledger.gate.set()
    assert await asyncio.wait_for(slow, 10) == 10
    assert backpressure.trouble is None
    await commit.close()


async def test_another_transaction_in_the_way_is_no_trouble() -> None:
    ledger = Ledger()
    backpressure = Backpressure()
    tries: list[int] = []

    async def write(entries: Sequence[int]) -> Sequence[int]:
        tries.append(len(entries))
        assert backpressure.trouble is None
        if len(tries) == 1:
            raise LedgerConflict("deadlock detected")
        return await ledger.write(entries)

    commit = GroupCommit("numbers", write, backpressure=backpressure)
    await commit.start()
    assert await asyncio.wait_for(commit.submit(4), 10) == 40
    assert tries == [1, 1]
    await commit.close()


async def test_an_entry_that_is_refused_fails_alone() -> None:
    ledger = Ledger()
    ledger.refused = {3}
    commit = GroupCommit("numbers", ledger.write)
    await commit.start()
    replies = await asyncio.gather(*(commit.submit(n) for n in range(6)), return_exceptions=True)
    assert isinstance(replies[3], ValueError)
    assert [reply for n, reply in enumerate(replies) if n != 3] == [0, 10, 20, 40, 50]
    await commit.close()


async def test_closing_cancels_what_still_waits() -> None:
    ledger = Ledger()
    ledger.away_for = 10_000
    commit = GroupCommit("numbers", ledger.write)
    await commit.start()
    writing = asyncio.create_task(commit.submit(1))
    await asyncio.wait_for(ledger.entered.wait(), 10)
    waiting = asyncio.create_task(commit.submit(2))
    await asyncio.sleep(0)
    await commit.close()
    for task in (writing, waiting):
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(task, 10)


@pytest.mark.parametrize(
    ("interval", "seconds"),
    [(1.0, 0.0), (QUIET, 0.0), (BUSY, GATHER), (BUSY / 2, GATHER_BUSY), (0.001, GATHER_BUSY), (0.0, GATHER_BUSY)],
)
def test_a_lone_entry_is_not_kept_waiting_and_a_stream_shares_statements(interval: float, seconds: float) -> None:
    assert gathering(interval) == seconds
    assert GATHER_BUSY >= 2 * BUSY  # so that waiting pays: at least two entries on average


async def test_a_stream_of_entries_needs_fewer_statements_than_entries() -> None:
    ledger = Ledger()
    commit = GroupCommit("numbers", ledger.write)
    await commit.start()
    waiting = []
    for n in range(300):
        waiting.append(asyncio.create_task(commit.submit(n)))
        await asyncio.sleep(0)
    await asyncio.gather(*waiting)
    assert sorted(n for group in ledger.groups for n in group) == list(range(300))
    assert len(ledger.groups) <= 30
    await commit.close()
