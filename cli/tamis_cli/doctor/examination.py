"""The whole examination, part by part. If one part fails, the other parts are still examined."""

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from importlib.metadata import version
from itertools import chain
from typing import Any

from sqlalchemy import Connection, Engine, select, text

from tamis_producer.config.redaction import Redaction
from tamis_producer.config.sentinel_url import is_redis
from tamis_producer.ledger import connect, ledger_errors, single_connection
from tamis_producer.runs.workers import read_redis, read_repairs, read_workers
from tamis_producer.transport.blocks import read_blocks
from tamis_producer.transport.broker import make_app, place, waiting_messages
from tamis_schemas import BrokerUnavailable, ConfigurationError, LedgerUnavailable, TamisError
from tamis_schemas.extras import needs
from tamis_schemas.ledger import dialects
from tamis_schemas.ledger.pooler import address
from tamis_schemas.ledger.revisions import revisions
from tamis_worker.config.settings import WorkerSettings
from tamis_worker.webhooks.outbox import TASKS

from .finding import Finding, Level, failure, ok, ok_if, warning
from .redis_server import RedisReading, judge_redis_server, read_redis_server
from .surroundings import (
    judge_blocks,
    judge_clocks,
    judge_disk,
    judge_names,
    judge_repairs,
    judge_servers,
    judge_times,
    judge_workers,
    read_clock,
)
from .work import DOCTOR, try_ledger, try_messages

SLOW = 0.05  # s for an answer
# Connections to Postgres: 8 for the ledger, 6 for grouped writes, and 1 or 2 for dispatch.
CONNECTIONS_OF_A_WORKER = 16


@dataclass(frozen=True)
class LedgerReading:
    """The state of the Postgres server that contains the ledger (the database of batches and results)."""

    version: str
    latency: float  # s, fastest of a few answers
    ahead: float  # s by which the server's clock is ahead of this machine's
    revision: str | None  # Alembic revision of the tables; None: no tables
    size: int  # bytes
    connections: int  # in use
    connections_at_most: int  # limit for ordinary users
    read_only: bool
    encoding: str = "UTF8"  # of the database
    pooler: bool = False  # a pooler such as PgBouncer is in front
    pooled: bool = False  # the URL declares pooled transactions


def read_ledger_server(url: str) -> LedgerReading | TamisError:
    """Return the state of the Postgres server at `url`, or the error that says why the server does not answer."""
    try:
        with single_connection(url, DOCTOR) as connection:

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
                encoding=scalar("SHOW server_encoding"),
                pooler=_stands_between(connection),
                pooled=address(url).pooled,
            )
    except TamisError as error:
        return error


def _stands_between(connection: Connection) -> bool:
    """Return whether a pooler is in front of Postgres. If so, driver and server report different process ids."""
    driver: Any = connection.connection.driver_connection
    server = connection.execute(text("SELECT pg_backend_pid()")).scalar_one()
    return bool(server != driver.info.backend_pid)


def judge_ledger_server(reading: LedgerReading | TamisError, revisions: Sequence[str]) -> list[Finding]:
    """Return the findings about the ledger. `revisions`: all table revisions that this release knows, oldest first."""
    subject = "ledger"
    if isinstance(reading, TamisError):
        return [failure(subject, str(reading), "start Postgres, or correct TAMIS_DATABASE_URL")]
    line = (
        f"Postgres answers in {1000 * reading.latency:.1f} ms, version {reading.version}, {reading.size / 1e6:,.0f} MB"
    )
    mend = "move Postgres closer to the workers: claims and results wait for it"
    findings = [ok_if(reading.latency <= SLOW, subject, line, mend)]
    if reading.read_only:
        mend = "name the primary in TAMIS_DATABASE_URL, or make Postgres writable"
        findings.append(failure(subject, "it is read-only: a standby, or configured so", mend))
    if reading.encoding != "UTF8":
        mend = "create a database with ENCODING 'UTF8' TEMPLATE template0, and run `tamis migrate` there"
        findings.append(failure(subject, f"its encoding is {reading.encoding}: it cannot hold every text", mend))
    if reading.pooler and not reading.pooled:
        what = "a pooler (PgBouncer) is in front of Postgres, but TAMIS_DATABASE_URL does not say so"
        mend = "if it pools transactions, add ?pgbouncer=true to TAMIS_DATABASE_URL: docs/operations.md"
        findings.append(warning(subject, what, mend))
    elif reading.pooler:
        findings.append(ok(subject, "a pooler (PgBouncer) is in front of Postgres, as TAMIS_DATABASE_URL says"))
    return [*findings, _tables(subject, reading.revision, revisions), _connections(subject, reading)]


def _tables(subject: str, revision: str | None, revisions: Sequence[str]) -> Finding:
    *older, newest = revisions
    if revision == newest:
        return ok(subject, f"its tables match this release (revision {revision})")
    if revision is None:
        return failure(subject, "it has no tables yet", "run `tamis migrate`")
    if revision in older:
        what = f"its tables are older (revision {revision}) than this release's ({newest})"
        return failure(subject, what, "run `tamis migrate`; workers of the older release continue")
    what = f"its tables are newer (revision {revision}) than this release's ({newest})"
    return failure(subject, what, "install the newer release of Tamis on this machine")


def _connections(subject: str, reading: LedgerReading) -> Finding:
    left = reading.connections_at_most - reading.connections
    line = f"{reading.connections} of {reading.connections_at_most} connections are in use"
    if left >= CONNECTIONS_OF_A_WORKER:
        return ok(subject, f"{line}; a worker uses up to {CONNECTIONS_OF_A_WORKER}")
    mend = "raise max_connections and restart Postgres, or run fewer workers with more TAMIS_CONCURRENCY"
    if left <= 0:
        return failure(subject, line, mend)
    return warning(subject, f"{line}; one more worker needs up to {CONNECTIONS_OF_A_WORKER}", mend)


NEWEST = 5  # learned formats to show


@dataclass(frozen=True)
class Learned:
    """The request format that workers have learned for a model at an endpoint."""

    endpoint: str
    model: str
    rung: str  # name of the request format
    proven: bool  # an answer in this format was usable
    unusable: int  # unusable answers in a row, in the last request format to try
    since: datetime


def read_learned(engine: Engine) -> tuple[Learned, ...]:
    """Return the last `NEWEST` request formats that workers learned, newest first. May raise `LedgerUnavailable`."""
    columns = dialects.c
    latest = select(
        columns.endpoint, columns.model, columns.rung, columns.proven, columns.unusable, columns.changed_at
    ).order_by(columns.changed_at.desc())
    with ledger_errors(), engine.connect() as connection:
        return tuple(Learned(*row) for row in connection.execute(latest.limit(NEWEST)))


def judge_learned(row: Learned) -> Finding:
    """Return the finding about a learned request format."""
    what = f"workers ask {row.model} at {row.endpoint} on rung {row.rung} since {row.since:%Y-%m-%d %H:%M} UTC"
    if row.unusable:
        plural = "" if row.unusable == 1 else "s"
        what = f"{what}; the last {row.unusable} answer{plural} {'was' if row.unusable == 1 else 'were'} unusable"
        return warning("learned", what, "name another model: this is already the lowest rung")
    return ok("learned", what if row.proven else f"{what}; no answer has confirmed it yet")


LATE = 60  # s of delay; workers look for due webhooks every two seconds

_READ = text("""
SELECT (SELECT count(*) FROM webhooks WHERE state = 'waiting' AND url NOT LIKE :tasks) AS waiting,
       (SELECT count(*) FROM webhooks WHERE state = 'waiting' AND tries > 0) AS failing,
       (SELECT count(*) FROM webhooks
        WHERE state = 'waiting' AND next_at < now() - make_interval(secs => :late)
          AND coalesce(claimed_until < now(), true)) AS late,
       (SELECT count(*) FROM webhooks WHERE state = 'given_up' AND ended_at > now() - interval '1 day') AS given_up,
       (SELECT count(*) FROM batches WHERE json_typeof(callback) = 'object' AND finished_at IS NULL
          AND callback ->> 'url' NOT LIKE :tasks) AS batches
""")


@dataclass(frozen=True)
class WebhookBacklog:
    """The numbers of waiting and failed webhooks (HTTP notifications) in the ledger."""

    waiting: int  # not delivered yet; not counting Celery tasks, which need no signature
    failing: int  # tried at least once and not delivered; counting Celery tasks
    late: int  # due more than `LATE` seconds ago, and claimed by no worker
    given_up: int  # given up within the last day
    batches: int  # unfinished batches that will send a signed webhook


def read_backlog(engine: Engine) -> WebhookBacklog:
    """Return the numbers of waiting and failed webhooks. May raise `LedgerUnavailable`."""
    with ledger_errors(), engine.connect() as connection:
        return WebhookBacklog(**connection.execute(_READ, {"late": LATE, "tasks": TASKS}).mappings().one())


def judge_backlog(backlog: WebhookBacklog, *, secret: bool) -> list[Finding]:
    """Return the findings about waiting and failed webhooks.

    `secret`: whether this environment has a secret to sign webhooks.
    """
    subject = "webhooks"
    findings = []
    if not secret and (backlog.waiting or backlog.batches):
        waiting = f"{backlog.waiting:,} wait, and {backlog.batches:,} batches will send one"
        what = f"{waiting}, but TAMIS_WEBHOOK_SECRET is not set"
        findings.append(warning(subject, what, "set it for all workers, and restart them: see docs/webhooks.md"))
    elif backlog.late:
        mend = "set TAMIS_WEBHOOK_SECRET for the workers too, and check that one runs"
        findings.append(warning(subject, f"{backlog.late:,} are overdue, and no worker sends them", mend))
    if backlog.given_up or backlog.failing:
        what = f"{backlog.failing:,} failed and will be retried, {backlog.given_up:,} were given up in the last day"
        findings.append(
            warning(subject, what, "`tamis webhooks list` says why; `tamis webhooks replay ID` sends one again")
        )
    return findings or [ok(subject, f"{backlog.waiting:,} wait")]


ANSWER_WITHIN = 5.0  # s


def examine(
    settings: WorkerSettings,
    *,
    call: bool = False,
    endpoint_only: bool = False,
    tell: Callable[[str], object] = lambda _: None,
) -> Iterator[Finding]:
    """Yield findings about everything that Tamis needs. Secrets in the findings are redacted.

    Args:
        settings: the settings of this process.
        call: whether to ask the model a question for each operation (filter, score, ...), which costs money.
        endpoint_only: whether to skip the servers, and examine only the LLM and the names of settings.
        tell: receives the name of each step that takes time.
    """
    redact = Redaction.of(settings)
    llm = _llm(settings, call, tell, redact.learn)
    names = judge_names(os.environ, WorkerSettings.model_fields)
    for finding in chain(names, llm if endpoint_only else chain(_servers(settings), llm)):
        yield replace(finding, what=redact(finding.what), mend=finding.mend and redact(finding.mend))


def _llm(
    settings: WorkerSettings, call: bool, tell: Callable[[str], object], learn: Callable[[str], object]
) -> Iterator[Finding]:
    try:
        with needs("worker"):
            from .llm import examine_llm
    except ConfigurationError as error:
        yield warning("LLM", "it was not checked: a required package is not installed", str(error))
        return
    yield from examine_llm(settings, call=call, tell=tell, learn=learn)


def _servers(settings: WorkerSettings) -> Iterator[Finding]:
    ahead: dict[str, float] = {}
    try:
        broker, database, redis_servers = settings.broker, settings.database, _redis_servers(settings)
    except ConfigurationError as error:
        yield failure("settings", str(error), "see docs/settings.md")
    else:
        works = True
        for subject, url in redis_servers.items():
            redis = read_redis_server(url)
            if isinstance(redis, RedisReading):
                ahead[subject] = redis.ahead
            findings = judge_redis_server(subject, place(url), redis)
            works = works and not any(finding.level is Level.FAILURE for finding in findings)
            yield from findings
        with suppress(BrokerUnavailable):  # the findings above say why
            yield from judge_blocks(read_blocks(settings.limiter))
        if not is_redis(broker):
            yield (other := _other_broker(settings))
            works = works and other.level is not Level.FAILURE
        if works:
            yield from try_messages(settings)
        ledger = read_ledger_server(database)
        if isinstance(ledger, LedgerReading):
            ahead["ledger"] = ledger.ahead
        findings = judge_ledger_server(ledger, revisions())
        yield from findings
        if isinstance(ledger, LedgerReading) and not any(finding.level is Level.FAILURE for finding in findings):
            yield from try_ledger(database, pooled=ledger.pooled)
        yield judge_clocks(ahead)
        yield from _workers(settings, broker, database)
    yield judge_times(
        visibility=settings.visibility_timeout,
        item_deadline=settings.item_deadline,
        call_timeout=settings.call_timeout,
    )
    if settings.stack is not None:
        for name, program in settings.stack.servers.items():
            yield ok("stack", f"{name} {program}")
        yield judge_disk(str(settings.home), shutil.disk_usage(settings.home).free)


def _other_broker(settings: WorkerSettings) -> Finding:
    """Return the finding about a broker that is not Redis: whether the broker answers."""
    try:
        with closing(make_app(settings)) as app:
            waiting_messages(app, within=ANSWER_WITHIN)
    except BrokerUnavailable as error:
        mend = "start it, or correct TAMIS_BROKER_URL: amqp://user:password@host:5672/vhost"
        return failure("broker", str(error), mend)
    return ok("broker", f"{place(settings.broker)} answers; it is not Redis, so its persistence was not checked")


def _redis_servers(settings: WorkerSettings) -> dict[str, str]:
    """Return the URL of each Redis server by its purpose, such as `broker`.

    A server with several purposes occurs once, under the first.
    """
    servers: dict[str, str] = {}
    urls = {"broker": settings.broker, "result backend": settings.result_backend, "limiter": settings.limiter}
    for subject, url in urls.items():
        if is_redis(url) and place(url) not in map(place, servers.values()):
            servers[subject] = url
    return servers


def _workers(settings: WorkerSettings, broker: str, database: str) -> Iterator[Finding]:
    with closing(make_app(settings)) as app, ExitStack() as ending:
        waiting, reports = None, None
        with suppress(BrokerUnavailable):
            waiting = waiting_messages(app, within=ANSWER_WITHIN)
            reports = read_redis(broker) if is_redis(broker) else None
        try:
            engine = connect(database)
            ending.callback(engine.dispose)
            workers = read_workers(engine, broker)
            repairs = read_repairs(engine)
            learned = read_learned(engine)
            backlog = read_backlog(engine)
        except (LedgerUnavailable, ConfigurationError) as error:
            yield failure("workers", f"the running workers are unknown: {error}", "repair the ledger first")
            return
        if reports is not None:
            yield from judge_servers([worker.id for worker in workers], [report.id for report in reports])
        yield from judge_workers(workers, waiting, version=version("tamis"))
        yield judge_repairs(repairs)
        yield from map(judge_learned, learned)
        yield from judge_backlog(backlog, secret=settings.webhook_secret is not None)
