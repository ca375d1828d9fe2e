"""The doctor with real servers: well, and with one part broken each."""

import json
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import redis
from sqlalchemy import func, insert, select

from llm_double import Double
from stage import WorkerProcess, abstracts, tamis
from stage.ledgers import Ledgers
from stage.sample_revision import next_release
from tamis_cli.doctor.examination import examine
from tamis_cli.doctor.finding import Finding, Level
from tamis_cli.doctor.redis_server import Unreachable, read_redis_server
from tamis_cli.doctor.work import try_ledger, try_messages
from tamis_cli.embedded.valkey import Valkey
from tamis_producer import Client
from tamis_producer.ledger import connect
from tamis_producer.ledger.worker_view import WorkerReport
from tamis_schemas import Filter
from tamis_schemas.batches import wire
from tamis_schemas.ledger import batches, dialects
from tamis_worker.config.settings import WorkerSettings

ONCOLOGY = Filter(criteria="Is this about oncology?")
KEY = "sk-a-key-that-nobody-may-see"


@pytest.fixture
def worker_settings(environment: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> WorkerSettings:
    for name, value in (environment | {"TAMIS_LLM_API_KEY": KEY}).items():
        monkeypatch.setenv(name, value)
    return WorkerSettings.load()


@pytest.fixture
def own_redis(tmp_path: Path) -> Iterator[Valkey]:
    with Valkey(tmp_path / "redis") as server:
        yield server


def bad(settings: WorkerSettings, *, call: bool = False, **changes: object) -> list[Finding]:
    """What is not well; nothing that is said holds a secret."""
    found = list(examine(settings.model_copy(update=changes), call=call))
    assert KEY not in repr(found)
    assert "s3cret" not in repr(found)
    return [finding for finding in found if finding.level is not Level.OK]


def test_all_is_well_but_that_no_worker_runs(worker_settings: WorkerSettings, client: Client, double: Double) -> None:
    double.script(models=["double-1"])
    found = bad(worker_settings)
    assert [(one.subject, one.what) for one in found] == [("workers", "no worker is running")]
    assert double.count() == 0  # it cost nothing
    well = {finding.what for finding in examine(worker_settings)}
    tried = {"a test message came back", "a test chord was counted", "a test row came back", "a test notification came"}
    assert {*tried, "it blocks no model"} <= well
    with redis.Redis.from_url(worker_settings.broker) as server, client.reading() as connection:
        assert server.keys(f"{wire.KEY_PREFIX}*doctor*") == []
        assert connection.execute(select(func.count()).select_from(batches)).scalar_one() == 0


def test_a_client_at_another_redis_or_ledger_than_the_workers_is_told_so(
    worker_settings: WorkerSettings, client: Client, double: Double, own_redis: Valkey, ledgers: Ledgers
) -> None:
    double.script(models=["double-1"])
    report = WorkerReport(id="w")
    with client.engine.begin() as connection:
        connection.exec_driver_sql("INSERT INTO workers (id, lease_until) VALUES ('w', now() + interval '1 minute')")
    with redis.Redis.from_url(worker_settings.broker) as server:
        server.set(wire.worker_key(report.id), report.model_dump_json(), px=60_000)
    assert [one.mend for one in bad(worker_settings) if one.level is Level.FAILURE] == []
    mends = [one.mend for one in bad(worker_settings, broker_url=own_redis.url) if one.level is Level.FAILURE]
    assert mends == ["set TAMIS_BROKER_URL here as for the workers"]
    with ledgers.lend() as other:
        mends = [one.mend for one in bad(worker_settings, database_url=other) if one.level is Level.FAILURE]
    assert mends == ["set TAMIS_DATABASE_URL here as for the workers"]


def test_messages_without_a_worker_are_a_failure(
    worker_settings: WorkerSettings, client: Client, double: Double
) -> None:
    double.script(models=["double-1"])
    client.submit(ONCOLOGY, abstracts(30))
    assert [(one.level, one.what) for one in bad(worker_settings)] == [
        (Level.FAILURE, "no worker is running, and 30 messages wait")
    ]


def test_what_the_workers_have_learned_of_the_model_is_told(
    worker_settings: WorkerSettings, client: Client, double: Double
) -> None:
    double.script(models=["double-1"])
    learned = {"endpoint": double.base_url, "model": "double-1", "rung": "text", "proven": True}
    with client.engine.begin() as connection:
        connection.execute(insert(dialects).values(**learned, unusable=0))
        connection.execute(insert(dialects).values(**learned | {"model": "double-2", "proven": False}, unusable=4))
    assert any(one.what.endswith("were unusable") and "ask double-2" in one.what for one in bad(worker_settings))
    told = [one.what for one in examine(worker_settings) if one.subject == "learned"]
    assert any(f"workers ask double-1 at {double.base_url} on rung text since" in what for what in told)
    assert len(told) == 2


def test_what_is_not_there_is_said_and_the_rest_is_examined_all_the_same(
    worker_settings: WorkerSettings, double: Double
) -> None:
    double.script(models=["double-1"])
    found = bad(
        worker_settings,
        broker_url="redis://:s3cret@127.0.0.1:1/0",
        database_url="postgresql+psycopg://tamis:s3cret@127.0.0.1:1/tamis",
        llm_base_url="http://127.0.0.1:1/v1",
    )
    told = {finding.subject: finding.what for finding in found}
    assert set(told) == {"broker", "ledger", "clocks", "workers", "LLM"}
    nobody = "no server listens at 127.0.0.1:1"
    assert (told["broker"], told["ledger"]) == (
        f"127.0.0.1:1 does not answer: {nobody}",
        f"Postgres does not answer: {nobody}",
    )
    assert told["LLM"] == "no server listens at http://127.0.0.1:1/v1"


def test_a_redis_that_evicts_or_refuses_the_password_or_says_nothing_of_itself_is_found(
    worker_settings: WorkerSettings, own_redis: Valkey, double: Double
) -> None:
    double.script(models=["double-1"])
    here = {"broker_url": own_redis.url}
    with redis.Redis.from_url(own_redis.url) as server:
        server.config_set("maxmemory", "100mb")
        server.config_set("maxmemory-policy", "allkeys-lru")
        assert any("evicts messages when it is full" in one.what for one in bad(worker_settings, **here))
        server.execute_command("ACL", "SETUSER", "default", "-info")
        assert any("no permission for INFO" in one.what for one in bad(worker_settings, **here))
    wrong = own_redis.url.replace(f":{own_redis.password}@", ":s3cret@")
    assert any("denies access" in one.what for one in bad(worker_settings, broker_url=wrong))


def test_a_redis_that_is_silent_is_said_to_be_so_for_how_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tamis_cli.doctor.redis_server.ANSWER_WITHIN", 0.05)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        reading = read_redis_server(f"redis://127.0.0.1:{silent.getsockname()[1]}/0")
    assert reading == Unreachable("no answer within 0.05 s")


def test_work_that_a_server_refuses_is_said_with_the_likely_cause(
    worker_settings: WorkerSettings, own_redis: Valkey, database_url: str
) -> None:
    with redis.Redis.from_url(own_redis.url) as server:
        server.execute_command("ACL", "SETUSER", "default", "-zadd", "-scard")
        refused = list(try_messages(worker_settings.model_copy(update={"broker_url": own_redis.url})))
    where = own_redis.url.rpartition("@")[2].partition("/")[0]
    assert [finding.what for finding in refused] == [
        f"no test message came back: the broker at {where} denies this user a permission",
        "no test chord was counted: the server denies this user a permission",
    ]
    engine = connect(database_url)
    with engine.begin() as owner:
        owner.exec_driver_sql("CREATE ROLE reads_only LOGIN")
        owner.exec_driver_sql("GRANT SELECT ON ALL TABLES IN SCHEMA public TO reads_only")
    try:
        row, notification = try_ledger(database_url.replace("://postgres@", "://reads_only@"), pooled=False)
    finally:
        with engine.begin() as owner:
            owner.exec_driver_sql("DROP OWNED BY reads_only")
            owner.exec_driver_sql("DROP ROLE reads_only")
        engine.dispose()
    assert (row.level, notification.level) == (Level.FAILURE, Level.OK)
    assert row.what == "no test row came back: Postgres refuses: insufficient privilege"
    assert (row.mend or "").startswith("give its user the rights")


def test_a_ledger_without_this_releases_tables_is_found(
    worker_settings: WorkerSettings, double: Double, tmp_path: Path
) -> None:
    double.script(models=["double-1"])
    with next_release(tmp_path):
        older = [finding for finding in bad(worker_settings) if finding.subject == "ledger"]
    assert "its tables are older (revision 0001)" in older[0].what
    assert older[0].mend == "run `tamis migrate`; workers of the older release continue"


def test_the_command_ends_with_1_for_a_failure_and_prints_no_secret(
    environment: dict[str, str], tmp_path: Path, double: Double, start_worker: Callable[..., WorkerProcess]
) -> None:
    double.script(models=["gpt-5-mini"], api_key="sk-test-of-the-double")
    start_worker(model="gpt-5-mini")
    well = tamis("doctor", "--json", env=environment | {"TAMIS_MODEL": "gpt-5-mini"}, cwd=tmp_path)
    assert well.code == 0, well.out + well.err
    found = json.loads(well.out)
    assert {one["level"] for one in found} == {"ok"}, found
    assert {"subject", "level", "what", "mend"} == set(found[0])
    assert 7 <= double.count() <= 7 + 3  # three wasted calls at most
    broken = tamis("doctor", env=environment | {"TAMIS_LLM_API_KEY": KEY}, cwd=tmp_path)
    assert broken.code == 1
    assert "refuses the key" in broken.out
    assert "-> correct TAMIS_LLM_API_KEY" in broken.out
    assert KEY not in broken.out + broken.err
