"""The ledger's server: does it answer, are the tables those of this release, are there connections left."""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, text

from tamis_producer.ledger import PoolKind, connect, ledger_errors
from tamis_schemas import TamisError
from tamis_schemas.ledger.pooler import address

from .finding import Finding, failure, ok, warning
from .surroundings import read_clock

DOCTOR = PoolKind("tamis doctor", statement_within=0, idle_within=0)  # so that a pooler that is not named lets it in
SLOW = 0.05  # s for one answer
# 8 for its ledger, 6 for what it writes in groups, and one or two for dispatch.
CONNECTIONS_OF_A_WORKER = 16


@dataclass(frozen=True)
class LedgerReading:
    """The answers of the ledger's server about itself."""

    version: str
    latency: float  # s, of the fastest of a few answers
    ahead: float  # s that its clock is ahead of this machine's
    revision: str | None  # of the tables; None: there are none
    size: int  # bytes
    connections: int  # in use
    connections_at_most: int  # for ordinary users
    read_only: bool
    pooler: bool = False  # something stands before it that gives sessions of its own, as PgBouncer does
    pooled: bool = False  # and the URL says that transactions are pooled


@dataclass(frozen=True)
class Revisions:
    """The revisions of the tables."""

    head: str  # what this release writes
    known: frozenset[str]


def read_ledger_server(url: str) -> LedgerReading | TamisError:
    """Return what the server says of itself, or why it does not answer."""
    try:
        engine = connect(url, DOCTOR)
    except TamisError as error:
        return error
    try:
        with ledger_errors(), engine.connect() as connection:

            def scalar(query: str) -> str:
                return str(connection.execute(text(query)).scalar_one())

            latency, ahead = read_clock(lambda: float(scalar("SELECT extract(epoch FROM clock_timestamp())")))
            migrated = scalar("SELECT to_regclass('alembic_version') IS NOT NULL") == "True"
            return LedgerReading(
                version=scalar("SHOW server_version").split()[0],
                latency=latency,
                ahead=ahead,
                revision=scalar("SELECT max(version_num) FROM alembic_version") if migrated else None,
                size=int(scalar("SELECT pg_database_size(current_database())")),
                connections=int(scalar("SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'")),
                connections_at_most=int(scalar("SHOW max_connections"))
                - int(scalar("SHOW superuser_reserved_connections")),
                read_only=scalar("SHOW transaction_read_only") == "on",
                pooler=_stands_between(connection),
                pooled=address(url).pooled,
            )
    except TamisError as error:
        return error
    finally:
        engine.dispose()


def _stands_between(connection: Connection) -> bool:
    """Return whether the session is another one than the driver was told when it connected."""
    driver: Any = connection.connection.driver_connection
    server = connection.execute(text("SELECT pg_backend_pid()")).scalar_one()
    return bool(server != driver.info.backend_pid)


def judge_ledger_server(reading: LedgerReading | TamisError, revisions: Revisions) -> list[Finding]:
    """Return what to say of the ledger."""
    subject = "ledger"
    if isinstance(reading, TamisError):
        return [failure(subject, str(reading), "start Postgres, or put TAMIS_DATABASE_URL right")]
    line = (
        f"Postgres answers in {1000 * reading.latency:.1f} ms, version {reading.version}, {reading.size / 1e6:,.0f} MB"
    )
    findings = [
        ok(subject, line)
        if reading.latency <= SLOW
        else warning(subject, line, "bring Postgres nearer to the workers: claims and results wait for it")
    ]
    if reading.read_only:
        mend = "name the primary in TAMIS_DATABASE_URL, or have its operator let it write"
        findings.append(failure(subject, "it is read-only: a standby, or set so", mend))
    if reading.pooler and not reading.pooled:
        what = "a pooler (PgBouncer) stands before Postgres, and TAMIS_DATABASE_URL does not say so"
        mend = "add ?pgbouncer=true to TAMIS_DATABASE_URL where it pools transactions: docs/operations.md"
        findings.append(warning(subject, what, mend))
    elif reading.pooler:
        findings.append(ok(subject, "a pooler (PgBouncer) stands before Postgres, as TAMIS_DATABASE_URL says"))
    return [*findings, _tables(subject, reading.revision, revisions), _connections(subject, reading)]


def _tables(subject: str, revision: str | None, revisions: Revisions) -> Finding:
    if revision == revisions.head:
        return ok(subject, f"its tables are those of this release (revision {revision})")
    if revision is None:
        return failure(subject, "it has no tables yet", "run `tamis migrate`")
    if revision in revisions.known:
        what = f"its tables are older (revision {revision}) than this release's ({revisions.head})"
        return failure(subject, what, "run `tamis migrate`; workers of the older release go on meanwhile")
    what = f"its tables are newer (revision {revision}) than this release's ({revisions.head})"
    return failure(subject, what, "install the newer release of Tamis on this machine")


def _connections(subject: str, reading: LedgerReading) -> Finding:
    left = reading.connections_at_most - reading.connections
    line = f"{reading.connections} of {reading.connections_at_most} connections are in use"
    if left >= CONNECTIONS_OF_A_WORKER:
        return ok(subject, f"{line}; a worker uses up to {CONNECTIONS_OF_A_WORKER}")
    mend = "raise max_connections and restart Postgres, or run fewer workers with more TAMIS_CONCURRENCY"
    if left <= 0:
        return failure(subject, line, mend)
    return warning(subject, f"{line}; one more worker would need up to {CONNECTIONS_OF_A_WORKER}", mend)
