"""A ledger is upgraded while a batch runs: workers of the release before and of this one share it, and nothing is lost.

The release before is here with its own statements, which go on in the view that stands in the place of its table.
"""

import asyncio
import importlib.util
from collections.abc import Iterator
from types import ModuleType
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, create_engine, text
from sqlalchemy.ext.asyncio import AsyncEngine

from stage import release_before
from tamis_producer.ledger import read_views
from tamis_producer.ledger.worker_view import WorkerReport
from tamis_schemas import EvaluationResult, LedgerUnavailable, Provenance, Usage
from tamis_schemas.ledger.migrate import upgrade
from tamis_schemas.ledger.revisions import MIGRATIONS
from tamis_worker.embedded.postgres import Postgres
from tamis_worker.ledger import claims, heartbeat, outcomes, release_claims
from tamis_worker.ledger.claims import ItemKey
from tamis_worker.ledger.connection import connect, transaction
from tamis_worker.ledger.shards import Closing, close_shard
from tamis_worker.operations import Decided

ITEMS = 400
GROUP = 7  # items of one statement
OLD = "0007"


def as_before(module: ModuleType, **statements: str) -> ModuleType:
    """A copy of a module with statements of the release before."""
    name = f"{module.__name__}_before"
    spec = importlib.util.spec_from_file_location(name, module.__file__)
    assert spec is not None and spec.loader is not None  # noqa: PT018
    copy = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(__import__("sys").modules, name, copy)  # dataclasses look there for their module
        spec.loader.exec_module(copy)
    for name, statement in statements.items():
        assert hasattr(copy, name)
        setattr(copy, name, text(statement))
    return copy


CLAIMS = as_before(claims, _CLAIM=release_before.CLAIM, _LOST=release_before.LOST_CLAIMS)
OUTCOMES = as_before(outcomes, _RECORD=release_before.RECORD)
RETURNS = as_before(release_claims, _GIVE_BACK=release_before.GIVE_BACK)
RELEASES = {"old": (CLAIMS, OUTCOMES), "new": (claims, outcomes)}


@pytest.fixture
def old_ledger(postgres: Postgres) -> Iterator[str]:
    """The URL of a ledger as the release before migrated it."""
    server, name = postgres.url.replace("+psycopg", ""), f"test_{uuid4().hex[:12]}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"'.encode())
        url = postgres.url.replace("/tamis?", f"/{name}?")
        config = Config()
        config.set_main_option("script_location", str(MIGRATIONS))
        engine = create_engine(url)
        with engine.begin() as migrating:
            config.attributes["connection"] = migrating
            command.upgrade(config, OLD)
        engine.dispose()
        yield url
        connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)'.encode())


def submitted(connection: Connection) -> UUID:
    """A running batch as the producer of the release before writes one."""
    batch = uuid4()
    connection.execute(
        text(
            "INSERT INTO batches (id, content_sha256, operation, params, n_items, shard_size, window_size, state, "
            """started_at) VALUES (:id, '', 'filter', '{"operation": "filter", "criteria": "?"}', :n, :n, 1, """
            "'running', now())"
        ),
        {"id": batch, "n": ITEMS},
    )
    connection.execute(
        text("INSERT INTO shards (batch_id, round, shard, first_idx, end_idx, state, dispatched_at) "
             "VALUES (:id, 1, 0, 0, :n, 'dispatched', now())"),
        {"id": batch, "n": ITEMS},
    )  # fmt: skip
    driver: Any = connection.connection.driver_connection
    with driver.cursor() as cursor, cursor.copy(release_before.COPY_ITEMS) as copy:
        for index in range(ITEMS):
            copy.write_row((str(batch), index, f"i{index}", f'{{"title": "t{index}"}}', "pending", None))
    return batch


async def work(
    engine: AsyncEngine, release: str, batch: UUID, done: list[int], start: asyncio.Event, some: asyncio.Event
) -> None:
    """A worker of a release, until nothing is pending: every item is asked for, whoever else may have it."""
    claiming, recording = RELEASES[release]
    worker = f"{release}-{uuid4().hex[:6]}"
    await start.wait()
    await heartbeat.renew(engine, WorkerReport(id=worker), lease=60)
    asked = [claiming.ItemKey(batch, index) for index in range(ITEMS)]
    if release == "new":
        asked.reverse()
    for first in range(0, ITEMS, GROUP):
        granted = await again(claiming.claim, engine, asked[first : first + GROUP], worker=worker, max_claims=5)
        held = [one for one in granted if one is not None]
        assert [one.payload for one in held] == [{"title": f"t{one.key.index}"} for one in held]
        written = await again(recording.record, engine, [decided(recording, one) for one in held]) if held else []
        done += [one.key.index for one, accepted in zip(held, written, strict=True) if accepted]
        if len(done) >= ITEMS // 10:
            some.set()


async def again(statement: Any, *given: Any, **more: Any) -> Any:
    """What a worker does where another transaction went first."""
    while True:
        try:
            return await statement(*given, **more)
        except LedgerUnavailable:
            continue


def decided(module: ModuleType, claim: Any) -> Any:
    result = EvaluationResult(value=True, confidence=0.9, reasoning="r")
    paid = Provenance(model="m", usage=Usage(prompt_tokens=100, completion_tokens=20), calls=1, latency_ms=250)
    return module.Outcome(claim, Decided(result), paid)


async def test_workers_of_both_releases_end_a_batch_whose_ledger_is_upgraded_under_them(old_ledger: str) -> None:
    engine, sync = connect(old_ledger), create_engine(old_ledger)
    with sync.begin() as connection:
        batch = submitted(connection)
    done: dict[str, list[int]] = {"old": [], "new": []}
    at_once, some, upgraded = asyncio.Event(), asyncio.Event(), asyncio.Event()
    at_once.set()

    async def migrate() -> None:
        await some.wait()
        await asyncio.to_thread(upgrade, old_ledger)
        upgraded.set()

    await asyncio.gather(
        migrate(),
        *(work(engine, "old", batch, done["old"], at_once, some) for _ in range(2)),
        work(engine, "new", batch, done["new"], upgraded, some),
    )
    assert sorted(done["old"] + done["new"]) == list(range(ITEMS))  # nothing lost, nothing twice
    assert min(map(len, done.values())) >= ITEMS // 10
    assert await close_shard(engine, batch, 1, 0) is Closing.COMPLETED
    with sync.connect() as connection:
        (view,) = read_views(connection, batch_id=batch)
        rows = connection.execute(text("SELECT count(*), count(DISTINCT idx) FROM results")).one()
        tallies = connection.execute(text("SELECT settle_tallies(:b)"), {"b": batch}).scalar_one()
    assert (view.counts.decided, tuple(rows), view.prompt_tokens) == (ITEMS, (ITEMS, ITEMS), 100 * ITEMS)
    assert tallies is False  # what was counted under way is what a recount finds
    await engine.dispose()
    sync.dispose()


async def test_what_the_release_before_says_has_the_same_effect_on_the_new_tables(database_url: str) -> None:
    engine, sync = connect(database_url), create_engine(database_url)
    with sync.begin() as connection:
        batch = submitted(connection)  # by a producer of the release before, after the upgrade
    keys = [ItemKey(batch, index) for index in range(4)]
    of_old = [CLAIMS.ItemKey(batch, index) for index in range(4)]
    await heartbeat.renew(engine, WorkerReport(id="old"), lease=60)
    mine = await CLAIMS.claim(engine, of_old, worker="old", max_claims=5)
    assert [one.payload for one in mine] == [{"title": f"t{index}"} for index in range(4)]
    assert await claims.claim(engine, keys, worker="new", max_claims=5) == [None] * 4
    assert await CLAIMS.lost(engine, keys, worker="old") == []
    # What one release gives back the other takes; the first one's outcome then is nobody's.
    assert await RETURNS.give_back(engine, [mine[0]]) == [True]
    await heartbeat.renew(engine, WorkerReport(id="new"), lease=60)
    (taken,) = await claims.claim(engine, keys[:1], worker="new", max_claims=5)
    assert taken is not None
    assert (taken.fence, taken.payload) == (2, {"title": "t0"})
    assert list(await OUTCOMES.record(engine, [decided(OUTCOMES, one) for one in mine])) == [False, True, True, True]
    assert await release_claims.give_back(engine, [taken]) == [True]
    # Sweeps: of a dead worker's claims, and of messages that were lost.
    await CLAIMS.claim(engine, of_old[:1], worker="gone", max_claims=5)
    async with transaction(engine) as connection:
        released = (await connection.execute(text(release_before.RELEASE_DEAD))).all()
        await connection.execute(text("UPDATE shards SET dispatched_at = now() - interval '1 hour'"))
        await connection.execute(text("UPDATE item_states SET republished_at = NULL"))
        queues = {"priorities": ["normal"], "lanes": [0]}
        lost = (await connection.execute(text(release_before.LOST), {"grace": 15.0, **queues})).all()
        unclosed = (await connection.execute(text(release_before.UNCLOSED), {"grace": 15.0})).all()
        await connection.execute(text("UPDATE item_states SET attempts = 5 WHERE idx = 9"))
        given_up = (await connection.execute(text(release_before.GIVE_UP), {"max_claims": 5})).all()
        await connection.execute(text("UPDATE batches SET state = 'cancelled'"))
        await connection.execute(text(release_before.CANCEL_RELEASED))
        unfinished = (await connection.execute(text(release_before.UNFINISHED))).scalars().all()
    assert [row.idx for row in released] == [0]
    assert len(lost) == ITEMS - 3
    assert (unclosed, [row.idx for row in given_up], list(unfinished)) == ([], [9], [batch])
    with sync.connect() as connection:
        (view,) = read_views(connection, batch_id=batch)
        assert (view.counts.decided, view.counts.failed, view.counts.cancelled) == (3, 1, ITEMS - 4)
        assert view.lost_claims == 1
        assert connection.execute(text("SELECT settle_tallies(:b)"), {"b": batch}).scalar_one() is False
        with pytest.raises(Exception, match="what an item is cannot be changed"):
            connection.execute(text("UPDATE items SET payload = '{}' WHERE idx = 0"))
    await engine.dispose()
    sync.dispose()
