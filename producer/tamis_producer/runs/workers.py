"""The workers and their state: from the ledger or, if the ledger does not answer, from Redis."""

from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

import redis
from sqlalchemy import Engine, select

from tamis_schemas import BrokerUnavailable, LedgerUnavailable
from tamis_schemas.batches import wire
from tamis_schemas.ledger import repairs

from ..config.redis_clients import connect
from ..config.sentinel_url import is_redis
from ..ledger import ledger_errors
from ..ledger.worker_view import WorkerReport, WorkerView, read_live_workers, views_of

ANSWER_WITHIN = 5.0  # s


def read_workers(engine: Engine, broker_url: str) -> list[WorkerView]:
    """Return the live workers, longest running first.

    If the ledger does not answer, read the workers' reports from the broker's Redis. Workers cannot renew leases in a
    read-only ledger, so a read-only ledger without leases counts as no answer. Raises `LedgerUnavailable` if neither
    answers.
    """
    try:
        with ledger_errors(), engine.connect() as connection:
            workers = read_live_workers(connection)
            if workers or connection.exec_driver_sql("SHOW transaction_read_only").scalar_one() == "off":
                return workers
        away = "Postgres is read-only"
    except LedgerUnavailable as error:
        away = str(error)
    try:
        return views_of(read_redis(broker_url))
    except BrokerUnavailable as error:
        raise LedgerUnavailable(f"{away}; {error}") from error


@dataclass(frozen=True)
class Repairs:
    """The number of repairs of one kind that all workers made after crashes and lost messages."""

    kind: str  # name of the repair
    total: int
    last_at: datetime


def read_repairs(engine: Engine) -> list[Repairs]:
    """Return the number of repairs of each kind, the latest repair first. May raise `LedgerUnavailable`."""
    with ledger_errors(), engine.connect() as connection:
        rows = connection.execute(select(repairs).order_by(repairs.c.last_at.desc(), repairs.c.kind))
        return [Repairs(row.kind, row.total, row.last_at) for row in rows]


def read_redis(broker_url: str) -> list[WorkerReport]:
    """Return the workers' recent reports in Redis; empty if the broker is not Redis. May raise `BrokerUnavailable`."""
    if not is_redis(broker_url):
        return []
    try:
        with connect(broker_url, socket_timeout=ANSWER_WITHIN, socket_connect_timeout=ANSWER_WITHIN) as client:
            keys = list(client.scan_iter(f"{wire.WORKER_KEYS}*", count=1000))
            values = client.mget(keys) if keys else []
    except (redis.RedisError, OSError) as error:
        raise BrokerUnavailable("Redis does not answer either") from error
    reports = []
    for value in filter(None, values):
        with suppress(ValueError):  # written by another release; the ledger has that worker when it is back
            reports.append(WorkerReport.model_validate_json(value))
    return reports
