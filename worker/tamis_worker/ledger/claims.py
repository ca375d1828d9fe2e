"""Claims: a worker's fenced right to evaluate an item.

A claim raises the item's fence; only a result under the current fence is accepted. It is valid as long as the lease
of the worker that holds it, so one heartbeat a worker keeps all its claims alive.

`HeldClaims` are the claims that a process knows it holds. Claiming, evaluating and the lease all ask there.
"""

from collections.abc import Collection, Container, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy import Row, text
from sqlalchemy.ext.asyncio import AsyncEngine

from tamis_schemas import LedgerUnavailable

from .connection import transaction


class ItemKey(NamedTuple):
    """An item in the ledger."""

    batch_id: UUID
    index: int  # type: ignore[assignment]  # tuples have a method of this name, which nobody needs of a key


@dataclass(frozen=True)
class Claim:
    """A granted claim, with what is needed to evaluate the item."""

    key: ItemKey
    fence: int
    item_id: str
    payload: dict[str, Any]
    round: int = 1  # of its batch

    @property
    def columns(self) -> dict[str, Any]:
        """The claim as the columns that name it in a row of JSON."""
        return {"batch_id": str(self.key.batch_id), "idx": self.key.index, "fence": self.fence}


@dataclass(frozen=True)
class ClaimRefusal:
    """No claim: the item is finished, validly claimed, or its batch does not run."""

    cancelled: bool  # the item is; of any other it is not said why


# Claimable: pending, or held by a worker whose lease is over, for who may judge that (see `recovery`). A row that
# somebody else is just writing is not waited for: whoever holds it decides what becomes of it. Items of paused or
# cancelled batches stay as they are. A claim that is taken over from a dead worker is counted: it may have paid.
# How many claims an item gets is not decided here: the reconciler gives up items whose workers keep dying (`recovery`).
_CLAIM = text("""
WITH wanted AS (
    SELECT i.batch_id, i.idx, b.round, i.state = 'running' AND i.worker = :worker AND w.doubted AS again,
           i.state = 'running' AS held
    FROM unnest(CAST(:batch_ids AS uuid[]), CAST(:indexes AS int[]), CAST(:doubted AS bool[]))
         AS w(batch_id, idx, doubted)
    JOIN item_states i USING (batch_id, idx)
    JOIN batches b ON b.id = i.batch_id AND b.state = 'running'
    WHERE (i.state = 'running' AND i.worker = :worker AND w.doubted)
        OR i.state = 'pending'
        OR (i.state = 'running' AND NOT EXISTS (
              SELECT FROM workers k
              WHERE k.id = i.worker AND (k.lease_until > now() OR NOT EXISTS (
                  SELECT FROM workers me
                  WHERE me.id = :worker AND now() BETWEEN me.judges_from AND me.judges_until))))
    ORDER BY i.batch_id, i.idx
    FOR UPDATE OF i SKIP LOCKED
)
UPDATE item_states i
SET state = 'running', fence = i.fence + 1,
    attempts = i.attempts + CASE WHEN wanted.again THEN 0 ELSE 1 END,
    lost_claims = i.lost_claims + CASE WHEN wanted.held AND NOT wanted.again THEN 1 ELSE 0 END,
    worker = :worker, claimed_at = now()
FROM wanted JOIN payloads p USING (batch_id, idx)
WHERE i.batch_id = wanted.batch_id AND i.idx = wanted.idx
RETURNING i.batch_id, i.idx, i.fence, i.item_id, p.payload, wanted.round
""")


async def claim(
    engine: AsyncEngine,
    keys: Sequence[ItemKey],
    *,
    worker: str,
    in_doubt: Collection[ItemKey] = (),
) -> Sequence[Claim | None]:
    """A claim, or None, for each key in order; None where the item is finished or validly claimed.

    A key that stands twice (two deliveries of one message) is granted once. `in_doubt` are those that the worker may
    hold without knowing of it: they are granted as if they were nobody's. Raises `LedgerUnavailable`.
    """
    async with transaction(engine) as connection:
        rows = await connection.execute(
            _CLAIM,
            item_arrays(keys) | {"doubted": [key in in_doubt for key in keys], "worker": worker},
        )
        granted = {
            (key := ItemKey(row.batch_id, row.idx)): Claim(key, row.fence, row.item_id, row.payload, row.round)
            for row in rows
        }
    return [granted.pop(key, None) for key in keys]


_ASKED = """
SELECT i.batch_id, i.idx
FROM unnest(CAST(:batch_ids AS uuid[]), CAST(:indexes AS int[])) AS asked(batch_id, idx)
JOIN item_states i USING (batch_id, idx)
"""
_LOST = text(f"{_ASKED} WHERE i.state <> 'running' OR i.worker IS DISTINCT FROM :worker")
_CANCELLED = text(f"{_ASKED} WHERE i.state = 'cancelled'")


async def lost(engine: AsyncEngine, keys: Collection[ItemKey], *, worker: str) -> Collection[ItemKey]:
    """Those of a worker's items that are not its own any more. Raises `LedgerUnavailable`."""
    async with transaction(engine) as connection:
        return list(item_keys(await connection.execute(_LOST, item_arrays(keys) | {"worker": worker})))


async def cancelled(engine: AsyncEngine, keys: Collection[ItemKey]) -> Collection[ItemKey]:
    """Those of some items that are cancelled; without items nobody is asked. Raises `LedgerUnavailable`."""
    if not keys:
        return ()
    async with transaction(engine) as connection:
        return item_keys(await connection.execute(_CANCELLED, item_arrays(keys)))


def item_arrays(keys: Collection[ItemKey]) -> dict[str, object]:
    """The items as the two arrays that a statement takes, in their order."""
    return {"batch_ids": [key.batch_id for key in keys], "indexes": [key.index for key in keys]}


def item_keys(rows: Iterable[Row[Any]]) -> set[ItemKey]:
    """The items of rows that have a `batch_id` and an `idx`."""
    return {ItemKey(row.batch_id, row.idx) for row in rows}


class HeldClaims(set[ItemKey]):
    """The items that are claimed and being evaluated in this process; one per worker, on its loop."""

    @contextmanager
    def hold(self, key: ItemKey) -> Iterator[None]:
        """Know of a claim for as long as its item is evaluated."""
        self.add(key)
        try:
            yield
        finally:
            self.discard(key)


@dataclass(eq=False)
class Claims:
    """Claims for one worker, whose reply may be lost.

    An item that was claimed while the connection died would be held by a worker that lives and knows nothing of it, so
    nobody would ever take it away: what is in doubt is asked for once more.

    `held`: the items that the worker knows it holds.
    """

    engine: AsyncEngine
    _: KW_ONLY
    worker: str
    held: Container[ItemKey]
    _in_doubt: set[ItemKey] = field(init=False, default_factory=set)

    async def claim(self, keys: Sequence[ItemKey]) -> Sequence[Claim | ClaimRefusal]:
        """A claim or a refusal for each key in order; after `LedgerUnavailable` to be called again with the same keys.

        As `claim` says.
        """
        try:
            granted = await claim(
                self.engine,
                keys,
                worker=self.worker,
                in_doubt={key for key in self._in_doubt if key not in self.held},
            )
            gone = await cancelled(self.engine, [key for key, one in zip(keys, granted, strict=True) if one is None])
        except LedgerUnavailable:
            self._in_doubt.update(keys)
            raise
        self._in_doubt.difference_update(keys)
        return [one or ClaimRefusal(key in gone) for key, one in zip(keys, granted, strict=True)]
