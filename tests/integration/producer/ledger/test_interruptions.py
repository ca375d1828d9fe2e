"""A Ctrl-C in the middle of a statement comes out as what it is, wherever the driver fails to tidy up after it."""

import signal
from typing import Any

import psycopg
import pytest
from sqlalchemy import text

from tamis_producer.ledger import connect
from tamis_producer.ledger.connection import ledger_errors
from tamis_schemas import LedgerUnavailable
from tamis_schemas.ledger.outages import translated


@pytest.mark.parametrize("seam", [ledger_errors, translated])
def test_an_interrupted_ping_is_no_error_of_the_ledger(
    database_url: str, monkeypatch: pytest.MonkeyPatch, seam: Any
) -> None:
    engine = connect(database_url)
    with engine.connect() as connection:
        connection.execute(text("SELECT 1"))

    def interrupted(self: psycopg.Cursor[Any], *_: object) -> None:
        self.connection.pgconn.send_query(b"SELECT pg_sleep(60)")  # and nobody reads what it answers
        raise KeyboardInterrupt

    monkeypatch.setattr(psycopg.Cursor, "execute", interrupted)
    with pytest.raises(KeyboardInterrupt), seam(), engine.connect():  # which pings
        pass
    monkeypatch.undo()
    with seam(), engine.connect() as connection:
        assert connection.execute(text("SELECT 1")).scalar_one() == 1
    engine.dispose()


def test_what_was_interrupted_before_hides_no_error_of_the_ledger() -> None:
    engine = connect("postgresql+psycopg://nobody@127.0.0.1:1/nothing")
    try:
        signal.raise_signal(signal.SIGINT)
    except KeyboardInterrupt:
        with pytest.raises(LedgerUnavailable), ledger_errors(), engine.connect():
            pass
