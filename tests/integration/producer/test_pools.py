"""What Postgres is told by each kind of pool: whose connection it is, and how long it may take."""

import pytest
from sqlalchemy import Engine, text

from tamis_producer.ledger import CLIENT, DISPATCH, GATEWAY, PoolKind, connect
from tamis_worker.ledger.connection import connect as connect_worker


def told(engine: Engine) -> tuple[str, str, str]:
    names = ("application_name", "statement_timeout", "idle_in_transaction_session_timeout")
    with engine.connect() as connection:
        found = [str(connection.execute(text(f"SHOW {name}")).scalar_one()) for name in names]
    engine.dispose()
    return found[0], found[1], found[2]


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (CLIENT, ("tamis client", "30min", "5min")),
        (GATEWAY, ("tamis gateway", "2min", "1min")),
        (DISPATCH, ("tamis dispatch", "2min", "30s")),
    ],
)
def test_every_pool_has_a_name_and_bounds(database_url: str, kind: PoolKind, expected: tuple[str, str, str]) -> None:
    assert told(connect(database_url, kind)) == expected


async def test_so_has_the_workers(database_url: str) -> None:
    engine = connect_worker(database_url)
    async with engine.connect() as connection:
        assert (await connection.execute(text("SHOW application_name"))).scalar_one() == "tamis worker"
    await engine.dispose()


def test_what_the_url_says_goes_over_it(database_url: str) -> None:
    url = f"{database_url}&application_name=mine&options=-c%20statement_timeout%3D7s"
    assert told(connect(url, GATEWAY)) == ("mine", "7s", "1min")


def test_a_burst_opens_more_connections_and_keeps_few(database_url: str) -> None:
    engine = connect(database_url, GATEWAY)
    opened = [engine.connect() for _ in range(GATEWAY.most)]
    for one in opened:
        one.close()
    assert engine.pool.checkedin() == GATEWAY.kept == 3  # type: ignore[attr-defined]
    engine.dispose()
