"""The policy of workers: what ended long ago is archived and deleted step by step, by one worker at a time."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from uuid import UUID

import pytest
from sqlalchemy import Engine, func, insert, select, text, update

from stage.kept import age, write_kept_review
from stage.restored import restore
from tamis_producer.ledger import connect
from tamis_producer.ledger.pool_kinds import DISPATCH
from tamis_schemas import TamisError
from tamis_schemas.ledger import batches, items, llm_cache
from tamis_worker.config.settings import Policy, WorkerSettings
from tamis_worker.engine.backpressure import Backpressure
from tamis_worker.maintenance.retention import RETENTION_LOCK, Retention


@pytest.fixture
def engine(database_url: str) -> Iterator[Engine]:
    engine = connect(database_url, DISPATCH)
    yield engine
    engine.dispose()


@pytest.fixture
def review_id(engine: Engine) -> UUID:
    with engine.begin() as connection:
        review_id = write_kept_review(connection)
        age(connection, 100)
        connection.execute(update(batches).values(created_at=func.now() - func.make_interval(0, 0, 0, 100)))
        for days in (1, 40):
            created = func.now() - func.make_interval(0, 0, 0, days)
            row = {"key": str(days), "content": "{}", "model": "m", "prompt_tokens": 1, "completion_tokens": 1}
            connection.execute(insert(llm_cache).values(**row, created_at=created))
    return review_id


def retention(engine: Engine, policy: Policy) -> Retention:
    return Retention(engine, policy, interval=1, backpressure=Backpressure())


def left(engine: Engine) -> tuple[int, int, int]:
    with engine.connect() as connection:
        b, i, c = (
            connection.execute(select(func.count()).select_from(table)).scalar_one()
            for table in (batches, items, llm_cache)
        )
    return b, i, c


def test_a_worker_archives_and_deletes_what_is_too_old_and_nothing_else(
    engine: Engine, database_url: str, review_id: UUID, tmp_path: Path
) -> None:
    young = WorkerSettings(cache_days=60, retention_days=101, retention_archive=tmp_path).retention
    assert not retention(engine, young).step()
    assert left(engine) == (2, 13, 2)
    policy = WorkerSettings(cache_days=30, retention_days=99, retention_archive=tmp_path).retention
    worker = retention(engine, policy)
    steps = 0
    while worker.step():
        steps += 1
    assert steps == 6  # answers; archive and mark; the items of each batch, and then the batch
    assert left(engine) == (0, 0, 1)
    restore(database_url, tmp_path / f"review-{review_id}")
    assert not worker.step()  # what was brought back is as old as its return
    assert left(engine) == (2, 13, 1)


def test_one_worker_at_a_time_takes_a_step(engine: Engine, review_id: UUID) -> None:
    worker = retention(engine, Policy(batches=timedelta(days=1)))
    with engine.begin() as connection:
        connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": RETENTION_LOCK})
        assert not worker.step()
    assert worker.step()


def test_a_worker_that_ends_leaves_a_batch_whole(engine: Engine, review_id: UUID, tmp_path: Path) -> None:
    worker = retention(engine, Policy(batches=timedelta(days=1), archive=tmp_path))
    worker._stopping.set()
    assert not worker.step()
    assert left(engine) == (2, 13, 2)
    assert list(tmp_path.iterdir()) == []
    with engine.connect() as connection:
        assert connection.execute(select(func.count(batches.c.purging_at))).scalar_one() == 0


def test_an_archive_that_cannot_be_written_is_an_error_and_nothing_is_deleted(
    engine: Engine, review_id: UUID, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    worker = retention(engine, Policy(batches=timedelta(days=1), archive=tmp_path / "file"))
    with pytest.raises(TamisError, match="the archive"):
        worker.step()
    assert left(engine) == (2, 13, 2)


def test_nothing_is_deleted_unless_a_setting_says_so() -> None:
    assert not WorkerSettings().retention.deletes
