"""The whole examination, part by part; what one part cannot say keeps none of the others from it."""

import shutil
from collections.abc import Callable, Iterator
from importlib.metadata import version
from itertools import chain

from tamis_producer.config.redaction import Redaction
from tamis_producer.ledger import connect
from tamis_producer.runs.workers import REDIS, read_repairs, read_workers
from tamis_producer.transport.broker import make_app, place, waiting_messages
from tamis_schemas import BrokerUnavailable, ConfigurationError, LedgerUnavailable
from tamis_schemas.extras import needs
from tamis_schemas.ledger.revisions import head, revisions
from tamis_worker.config.settings import WorkerSettings

from .finding import Finding, failure, ok, warning
from .learned import judge_learned, read_learned
from .postgres_server import LedgerReading, Revisions, judge_ledger_server, read_ledger_server
from .redis_server import RedisReading, judge_redis_server, read_redis_server
from .surroundings import judge_clocks, judge_disk, judge_repairs, judge_times, judge_workers
from .webhook_backlog import judge_backlog, read_backlog

ANSWER_WITHIN = 5.0  # s


def examine(
    settings: WorkerSettings,
    *,
    call: bool = False,
    endpoint_only: bool = False,
    tell: Callable[[str], object] = lambda _: None,
) -> Iterator[Finding]:
    """Everything that Tamis needs, a finding after the other, without secrets.

    Args:
        settings: of this process.
        call: put one question of each operation to the model, which is paid for.
        endpoint_only: look at nothing but the LLM, which needs no servers.
        tell: takes what is being done where that takes its time.
    """
    redact = Redaction.of(settings)
    llm = _llm(settings, call, tell, redact.learn)
    parts = (llm,) if endpoint_only else (_servers(settings), llm)
    for finding in chain(*parts):
        mend = None if finding.mend is None else redact(finding.mend)
        yield Finding(finding.subject, finding.level, redact(finding.what), mend)


def _llm(
    settings: WorkerSettings, call: bool, tell: Callable[[str], object], learn: Callable[[str], object]
) -> Iterator[Finding]:
    try:
        with needs("worker"):
            from .llm import examine_llm
    except ConfigurationError as error:
        yield warning("LLM", "it is not examined: what asks it is not installed", str(error))
        return
    yield from examine_llm(settings, call=call, tell=tell, learn=learn)


def _servers(settings: WorkerSettings) -> Iterator[Finding]:
    ahead: dict[str, float] = {}
    try:
        broker, database, redis_servers = settings.broker, settings.database, _redis_servers(settings)
    except ConfigurationError as error:
        yield failure("settings", str(error), "see docs/settings.md")
    else:
        for subject, url in redis_servers.items():
            redis = read_redis_server(url)
            if isinstance(redis, RedisReading):
                ahead[subject] = redis.ahead
            yield from judge_redis_server(subject, place(url), redis)
        if not broker.startswith(REDIS):
            yield _other_broker(settings)
        ledger = read_ledger_server(database)
        if isinstance(ledger, LedgerReading):
            ahead["ledger"] = ledger.ahead
        yield from judge_ledger_server(ledger, _revisions())
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
    """Find out whether a broker that is no Redis answers; no more is asked of it."""
    app = make_app(settings)
    try:
        waiting_messages(app, within=ANSWER_WITHIN)
    except BrokerUnavailable as error:
        mend = "start it, or name the right one with TAMIS_BROKER_URL: amqp://user:password@host:5672/vhost"
        return failure("broker", str(error), mend)
    finally:
        app.close()
    return ok("broker", f"{place(settings.broker)} answers; it is no Redis, so how it keeps messages is not examined")


def _redis_servers(settings: WorkerSettings) -> dict[str, str]:
    """The Redis servers by what they are for; each server once."""
    servers: dict[str, str] = {}
    urls = {"broker": settings.broker, "result backend": settings.result_backend, "limiter": settings.limiter}
    for subject, url in urls.items():
        if url.startswith(REDIS) and place(url) not in map(place, servers.values()):
            servers[subject] = url
    return servers


def _revisions() -> Revisions:
    return Revisions(head=head(), known=frozenset(revisions()))


def _workers(settings: WorkerSettings, broker: str, database: str) -> Iterator[Finding]:
    app, engine = make_app(settings), connect(database)
    try:
        try:
            waiting = waiting_messages(app, within=ANSWER_WITHIN)
        except BrokerUnavailable:
            waiting = None
        workers = read_workers(engine, broker)
        repairs = read_repairs(engine)
        learned = read_learned(engine)
        backlog = read_backlog(engine)
    except (LedgerUnavailable, ConfigurationError) as error:
        yield failure("workers", f"which there are is not known: {error}", "mend the ledger first")
    else:
        yield from judge_workers(workers, waiting, version=version("tamis"))
        yield judge_repairs(repairs)
        yield from judge_learned(learned)
        yield from judge_backlog(backlog, secret=settings.webhook_secret is not None)
    finally:
        engine.dispose()
        app.close()
