"""Which of Postgres's errors mean that the ledger is away: real ones, on both floors, from one table."""

import asyncio

import psycopg
import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncEngine

from tamis_producer.ledger import ledger_errors
from tamis_schemas import LedgerUnavailable
from tamis_schemas.ledger.outages import CONFLICTS, OUTAGES, LedgerConflict
from tamis_worker.ledger.connection import connect, transaction

REFUSALS = ("22P02", "23505", "42501", "54000", "0A000", "22021", "25P02", "XX000")


def raised(state: str) -> str:
    """A statement that the server answers with this error."""
    code = state if len(state) == 5 else f"{state}0Z9"[:5]  # some error of the class
    return f"DO $$ BEGIN RAISE EXCEPTION 'no room' USING ERRCODE = '{code}'; END $$"


async def on_the_worker(engine: AsyncEngine, *statements: str) -> None:
    async with transaction(engine) as connection:
        for statement in statements:
            await connection.execute(text(statement))


def on_the_producer(url: str, *statements: str) -> None:
    engine = create_engine(url)
    try:
        with ledger_errors(), engine.begin() as connection:
            for statement in statements:
                connection.execute(text(statement))
    finally:
        engine.dispose()


@pytest.mark.parametrize("state", sorted({*OUTAGES, *CONFLICTS}))
async def test_what_says_that_the_ledger_is_away_is_unavailable_on_both_floors(
    engine: AsyncEngine, database_url: str, state: str
) -> None:
    with pytest.raises(LedgerUnavailable) as worker:
        await on_the_worker(engine, raised(state))
    with pytest.raises(LedgerUnavailable) as producer:
        on_the_producer(database_url, raised(state))
    assert str(worker.value) == str(producer.value)
    assert str(worker.value).endswith(": no room")
    assert isinstance(worker.value, LedgerConflict) is (state in CONFLICTS)


@pytest.mark.parametrize("state", REFUSALS)
async def test_what_no_repetition_mends_is_not(engine: AsyncEngine, database_url: str, state: str) -> None:
    with pytest.raises(DBAPIError):
        await on_the_worker(engine, raised(state))
    with pytest.raises(DBAPIError):
        on_the_producer(database_url, raised(state))


@pytest.mark.parametrize(
    ("statements", "words"),
    [
        (("SET TRANSACTION READ ONLY", "DELETE FROM llm_cache"), "Postgres is read-only"),
        (("SET LOCAL statement_timeout = '20ms'", "SELECT pg_sleep(5)"), "Postgres took too long"),
        (("SELECT pg_terminate_backend(pg_backend_pid())",), "Postgres is stopping"),
    ],
    ids=["read-only", "statement timeout", "terminated"],
)
async def test_real_outages_are_told_in_words(engine: AsyncEngine, statements: tuple[str, ...], words: str) -> None:
    with pytest.raises(LedgerUnavailable, match=words):
        await on_the_worker(engine, *statements)


async def test_a_lock_that_is_not_given_in_time_is_an_outage(engine: AsyncEngine) -> None:
    async with transaction(engine) as holder:
        await holder.execute(text("LOCK TABLE llm_cache"))
        with pytest.raises(LedgerUnavailable, match="did not release a lock in time"):
            await on_the_worker(engine, "SET LOCAL lock_timeout = '20ms'", "SELECT FROM llm_cache")


async def test_of_two_transactions_in_a_deadlock_one_is_a_conflict(engine: AsyncEngine) -> None:
    await on_the_worker(engine, "INSERT INTO workers (id, lease_until) VALUES ('a', now()), ('b', now())")
    both_hold = asyncio.Barrier(2)

    async def lock(first: str, second: str) -> None:
        async with transaction(engine) as connection:
            await connection.execute(text(f"UPDATE workers SET reason = '' WHERE id = '{first}'"))
            await both_hold.wait()
            await connection.execute(text(f"UPDATE workers SET reason = '' WHERE id = '{second}'"))

    ends = await asyncio.gather(lock("a", "b"), lock("b", "a"), return_exceptions=True)
    assert sorted(type(end).__name__ for end in ends) == ["LedgerConflict", "NoneType"]


async def test_a_server_that_is_not_there_is_an_outage() -> None:
    url = "postgresql+psycopg://nobody:secret@127.0.0.1:1/nowhere"
    engine = connect(url)
    with pytest.raises(LedgerUnavailable, match="Postgres does not answer") as away:
        await on_the_worker(engine, "SELECT 1")
    await engine.dispose()
    assert "secret" not in str(away.value)
    with pytest.raises(LedgerUnavailable, match="Postgres does not answer"):
        on_the_producer(url, "SELECT 1")


def test_an_error_of_the_driver_itself_is_translated_too() -> None:
    """The producer's COPY goes past SQLAlchemy."""
    with pytest.raises(LedgerUnavailable, match="has no disk space left"), ledger_errors():
        raise psycopg.errors.DiskFull("could not extend file")
