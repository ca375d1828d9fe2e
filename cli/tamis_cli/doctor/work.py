"""Trials of the servers with a message, a chord, a row, a lock and a notification. Test texts are not ASCII."""

from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any
from uuid import uuid4

import redis
from celery import Celery
from sqlalchemy import func, insert, select
from sqlalchemy.exc import DBAPIError

from tamis_producer.ledger import PoolKind, single_connection
from tamis_producer.transport.broker import make_app, passes_on, what_is_wrong
from tamis_schemas import TamisError
from tamis_schemas.ledger import batches
from tamis_worker.config.settings import WorkerSettings
from tamis_worker.ledger.connection import refusal_words

from .finding import Finding, failure, ok, warning

ANSWER_WITHIN = 5.0  # s
DOCTOR = PoolKind("tamis doctor", statement_within=0, idle_within=0)  # no limits: an undeclared pooler may refuse them
LETTER = "\u03b1"
RIGHTS = "give its user the rights that docs/security.md lists"
POOLED = "no notification passes a pooler of transactions: results of single calls come up to a second later"
AWAITED = "if a pooler of transactions is in front, add ?pgbouncer=true to TAMIS_DATABASE_URL; waiting callers poll"


def try_messages(settings: WorkerSettings) -> Iterator[Finding]:
    """Try a message through the broker and a chord in the result backend. Yield a finding about each."""
    with closing(make_app(settings, within=ANSWER_WITHIN)) as app:
        changed = "it was lost or changed"
        yield _tried("broker", "test message came back", lambda: passes_on(app, LETTER, within=ANSWER_WITHIN), changed)
        yield _tried("result backend", "test chord was counted", lambda: _chord(app), "its part was not counted")


def try_ledger(url: str, *, pooled: bool) -> Iterator[Finding]:
    """Try a row, a lock and a notification in the ledger, and yield the findings.

    The row is rolled back. `pooled`: whether the URL declares a pooler of transactions; if so, no notification is
    tried.
    """
    yield _tried("ledger", "test row came back", lambda: _row(url), "its text was changed")
    if pooled:
        yield ok("ledger", POOLED)
    else:
        why = "is a pooler of transactions in front?"
        yield _tried("ledger", "test notification came", lambda: _notification(url), why, (warning, AWAITED))


def _tried(
    subject: str,
    what: str,
    work: Callable[[], bool],
    why: str,
    fault: tuple[Callable[[str, str, str], Finding], str] = (failure, RIGHTS),
) -> Finding:
    try:
        if work():
            return ok(subject, f"a {what}")
    except TamisError as error:
        why = str(error)
    except redis.RedisError as error:
        why = f"the server {what_is_wrong(error)}"
    except DBAPIError as error:
        why = f"Postgres refuses: {refusal_words(error)}"
    level, mend = fault
    return level(subject, f"no {what}: {why}", mend)


def _chord(app: Celery) -> bool:
    backend: Any = app.backend
    group = f"doctor-{uuid4()}"
    try:
        backend.set_chord_size(group, 1)
        return bool(backend.completed_by(group, [0]))
    finally:
        backend.client.delete(*backend.keys_of(group))


def _row(url: str) -> bool:
    row = {"id": uuid4(), "content_sha256": "", "label": LETTER, "operation": "filter", "params": {LETTER: LETTER}}
    with single_connection(url, DOCTOR) as connection:
        connection.execute(insert(batches).values(**row, n_items=0, shard_size=1, window_size=1))
        connection.execute(select(func.pg_try_advisory_xact_lock(func.hashtext(LETTER))))
        label = connection.execute(select(batches.c.label).where(batches.c.id == row["id"])).scalar_one()
        connection.rollback()
    return bool(label == LETTER)


def _notification(url: str) -> bool:
    token = f"{LETTER} {uuid4()}"
    with single_connection(url, DOCTOR) as listening, single_connection(url, DOCTOR) as other:
        driver: Any = listening.connection.driver_connection
        listening.exec_driver_sql("LISTEN tamis_doctor")
        listening.commit()
        other.execute(select(func.pg_notify("tamis_doctor", token)))
        other.commit()
        return any(notification.payload == token for notification in driver.notifies(timeout=ANSWER_WITHIN))
