"""Exactly the rights that docs/security.md names are enough: for a batch, for Flower, and for nothing else."""

import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest
import redis
from sqlalchemy import text
from sqlalchemy.exc import ProgrammingError

from llm_double import Double
from stage import WorkerProcess, abstracts, wait_until
from stage.kept import write_kept_review
from tamis_cli.doctor.finding import Level
from tamis_cli.doctor.work import try_ledger, try_messages
from tamis_cli.embedded.programs import Flower
from tamis_cli.embedded.valkey import Valkey
from tamis_producer import Client, ProducerSettings
from tamis_producer.ledger import connect
from tamis_producer.retention.purge import purge
from tamis_producer.retention.subjects import find_subjects
from tamis_producer.transport.blocks import lift_blocks
from tamis_review import (
    close_stop_sample,
    draw_audit,
    draw_stop_sample,
    list_overrides,
    may_stop,
    measure_agreement,
    override,
    record_audit,
    withdraw_override,
)
from tamis_review.decisions.audits import AuditDecision
from tamis_schemas import Callback, ConfigurationError, Filter
from tamis_schemas.batches import wire
from tamis_schemas.ledger.rights import GATEWAY, WORKER, grant, grants
from tamis_worker.config.settings import WorkerSettings

TEXT = (Path(__file__).parents[2] / "docs" / "security.md").read_text("utf-8")
QUESTION = Filter(criteria="Is it a trial?")
PASSWORD = "a-password-of-the-test"
ROLES = {"tamis_worker": WORKER, "tamis_gateway": GATEWAY}


def block(language: str) -> str:
    """The only block of this language in the document."""
    (found,) = re.findall(rf"```{language}\n(.*?)```", TEXT, re.DOTALL)
    return str(found)


@pytest.fixture
def own_valkey(tmp_path: Path) -> Iterator[Valkey]:
    with Valkey(tmp_path / "valkey") as server:
        yield server


@pytest.fixture
def broker(own_valkey: Valkey) -> str:
    """The URL of a user with the rights of the document."""
    with redis.Redis.from_url(own_valkey.url) as client:
        client.execute_command("ACL", "SETUSER", "tamis", f">{PASSWORD}", *block("acl").split())
    return f"redis://tamis:{PASSWORD}@127.0.0.1:{own_valkey.port}/0"


@dataclass(frozen=True)
class Ledger:
    """A ledger that another role owns, by the URL of each role."""

    worker: str
    gateway: str


@pytest.fixture
def ledger(database_url: str) -> Iterator[Ledger]:
    roles = {name: database_url.replace("://postgres@", f"://{name}:{PASSWORD}@") for name in ROLES}
    for _ in range(2):  # again at each release
        assert [grant(database_url, url, ROLES[name]) for name, url in roles.items()] == list(ROLES)
    yield Ledger(*roles.values())
    with psycopg.connect(database_url.replace("+psycopg", ""), autocommit=True) as connection:
        for name in ROLES:
            connection.execute(f"DROP OWNED BY {name}".encode())
            connection.execute(f"DROP ROLE {name}".encode())


def test_the_document_shows_the_statements_that_are_run() -> None:
    shown = [line for line in block("sql").splitlines() if not line.startswith("--")]
    assert shown == [f"{line};" for name, rights in ROLES.items() for line in grants(name, rights)]


def test_the_work_of_the_doctor_and_a_lift_need_no_more_rights(broker: str, ledger: Ledger) -> None:
    settings = WorkerSettings(broker_url=broker, database_url=ledger.worker)
    tried = [finding for url in (ledger.worker, ledger.gateway) for finding in try_ledger(url, pooled=False)]
    assert {finding.level for finding in [*tried, *try_messages(settings)]} == {Level.OK}
    with redis.Redis.from_url(settings.limiter) as client:
        client.hset(f"{wire.limiter_key('https://llm.example/v1', 'm')}:rate", "blocked", 2 * int(1e6 * time.time()))
    assert [block.model for block in lift_blocks(settings.limiter, ["m"])] == ["m"]


def test_a_batch_and_flower_need_no_more_rights_than_the_document_says(
    broker: str, ledger: Ledger, own_valkey: Valkey, double: Double, tmp_path: Path
) -> None:
    environment = {
        "TAMIS_BROKER_URL": broker,
        "TAMIS_DATABASE_URL": ledger.worker,
        "TAMIS_LLM_BASE_URL": double.base_url,
        "TAMIS_LLM_API_KEY": "sk-test-of-the-double",
        "TAMIS_MODEL": "double-1",
        "TAMIS_SWEEP_INTERVAL": "0.5",
        "TAMIS_LEASE_SECONDS": "2",
    }
    (tmp_path / "log").mkdir()
    without_ledger = {name: value for name, value in environment.items() if name != "TAMIS_DATABASE_URL"}
    flower = Flower(tmp_path, without_ledger, usual_port=None)
    worker, other = (WorkerProcess(tmp_path, name, environment) for name in ("one", "two"))
    try:
        flower.start()
        settings = ProducerSettings(broker_url=broker, database_url=ledger.gateway, shard_size=5, shard_window=2)
        with Client(settings) as client:
            callback = Callback(url="https://127.0.0.1/", failed_share=0)
            batch = client.submit(QUESTION, abstracts(20), callback=callback)
            other.kill()  # what it held is restored
            assert batch.wait(60).decided == 20
            later = client.submit(QUESTION, [*abstracts(3), {"id": "again"}], use_cache=False)
            later.pause()
            later.resume()
            later.wait(60)
            assert list(later.results())
            audit = draw_audit(batch, 3, seed=1)
            made = override(batch, 0, value=True, reviewer="Reviewer A", note="seen")
            assert list_overrides(batch) == [made]
            assert withdraw_override(batch, 0, reviewer="Reviewer A").withdrawn
            said = [AuditDecision(item.index, include=True, reviewer="Reviewer A") for item in audit.items]
            assert len(record_audit(client, audit.id, said, include_missed=True).overrides) == audit.sample
            assert measure_agreement(batch).audits.n == audit.sample
            if may_stop(batch).unread:
                assert draw_stop_sample(batch).samples[0].drawn > 0
                assert close_stop_sample(batch).sample is None
        wait_until(flower.healthy, within=20, what="Flower is well")
        assert worker.stop() == 0
    finally:
        worker.kill()
        other.kill()
        flower.stop()
    with redis.Redis.from_url(own_valkey.url) as client:
        assert [(entry["reason"], entry["object"]) for entry in client.acl_log()] == []
    for log in (worker.text(), (tmp_path / "log" / "flower.log").read_text()):
        assert "NOPERM" not in log
        assert "permission denied" not in log


def test_a_role_that_purges_needs_no_more_rights_than_the_document_says(ledger: Ledger, database_url: str) -> None:
    owner = database_url.replace("+psycopg", "")
    with psycopg.connect(owner, autocommit=True) as connection:
        connection.execute("CREATE ROLE tamis_purge LOGIN")
        for statement in (*grants("tamis_purge", WORKER), *block("postgres").split(";")):
            if statement.strip():
                connection.execute(statement.encode())
    engine = connect(database_url.replace("://postgres@", "://tamis_purge@"))
    try:
        owners = connect(database_url)
        with owners.begin() as connection:
            review_id = write_kept_review(connection)
        owners.dispose()
        with engine.connect() as connection:
            subjects = find_subjects(connection, ids=[str(review_id)])
        assert len(list(purge(engine, subjects))) == 1
        with engine.connect() as connection:
            assert connection.execute(text("SELECT count(*) FROM overrides")).scalar_one() == 0
            with pytest.raises(ProgrammingError, match="permission denied"):
                connection.execute(text("DELETE FROM overrides"))
    finally:
        engine.dispose()
        with psycopg.connect(owner, autocommit=True) as connection:
            connection.execute("DROP OWNED BY tamis_purge")
            connection.execute("DROP ROLE tamis_purge")


@pytest.mark.parametrize(
    "command",
    [("FLUSHALL",), ("KEYS", "*"), ("CONFIG", "SET", "maxmemory", "1"), ("GET", "of-others"), ("ACL", "LIST")],
)
def test_the_user_may_do_nothing_else(broker: str, command: tuple[str, ...]) -> None:
    with redis.Redis.from_url(broker) as client, pytest.raises(redis.exceptions.NoPermissionError):
        client.execute_command(*command)


NOBODYS = [
    "DELETE FROM item_states",
    "DELETE FROM payloads",
    "UPDATE payloads SET origin = 1",
    "UPDATE tallies SET decided = 0",
    "INSERT INTO tallies (batch_id, round, backend) VALUES (gen_random_uuid(), 0, 0)",
    "DELETE FROM results",
    "DELETE FROM batches",
    "UPDATE overrides SET reviewer = 'Eve'",
    "DELETE FROM overrides",
    "UPDATE audits SET population = 1",
    "UPDATE audit_decisions SET include = true",
    "DELETE FROM audit_items",
    "UPDATE transcripts SET round = 1",
    "ALTER TABLE overrides DISABLE TRIGGER never_changed",
    "DROP TABLE item_states",
    "ALTER TABLE item_states DISABLE TRIGGER ALL",
    "TRUNCATE batches",
    "UPDATE alembic_version SET version_num = '1'",
    "CREATE TABLE of_mine (a int)",
    "CREATE ROLE of_mine",
    "COPY items TO PROGRAM 'cat'",
]
NO_WORKERS = [
    "INSERT INTO overrides (batch_id, idx, reviewer) VALUES (gen_random_uuid(), 0, 'Eve')",
    "INSERT INTO api_keys (id, secret_sha256, label, scopes) VALUES ('a', 'b', 'c', '[]')",
    "UPDATE api_keys SET revoked_at = NULL",
]
NO_GATEWAYS = [
    "UPDATE results SET value = 'true'",
    "UPDATE llm_cache SET content = ''",
    "UPDATE dialects SET proven = true",
    "UPDATE workers SET state = 'working'",
    "DELETE FROM workers",
    "DELETE FROM webhooks",
]


@pytest.mark.parametrize(("role", "forbidden"), [("worker", NOBODYS + NO_WORKERS), ("gateway", NOBODYS + NO_GATEWAYS)])
def test_a_role_may_do_nothing_else(ledger: Ledger, role: str, forbidden: list[str]) -> None:
    refused = (psycopg.errors.InsufficientPrivilege, psycopg.errors.FeatureNotSupported)
    with psycopg.connect(getattr(ledger, role).replace("+psycopg", ""), autocommit=True) as connection:
        assert connection.execute("SELECT count(*) FROM items").fetchone() == (0,)
        for statement in forbidden:
            with pytest.raises(refused):
                connection.execute(statement.encode())


def test_tables_of_later_migrations_are_theirs_and_passwords_reach_no_log(ledger: Ledger, database_url: str) -> None:
    with psycopg.connect(database_url.replace("+psycopg", ""), autocommit=True) as owner:
        owner.execute("CREATE TABLE of_a_later_release (a int)")
        stored = owner.execute("SELECT rolpassword FROM pg_authid WHERE rolname = 'tamis_worker'").fetchone()
    assert stored is not None
    assert stored[0].startswith("SCRAM-SHA-256$")
    for url in (ledger.worker, ledger.gateway):
        with psycopg.connect(url.replace("+psycopg", ""), autocommit=True) as connection:
            connection.execute("INSERT INTO of_a_later_release VALUES (1)")
            connection.execute("UPDATE of_a_later_release SET a = 2")
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute("DELETE FROM of_a_later_release")


@pytest.mark.parametrize("url", ["postgresql+psycopg://postgres@host/tamis", "postgresql+psycopg://host/tamis", "what"])
def test_the_owner_is_no_role_to_work_with(database_url: str, url: str) -> None:
    with pytest.raises(ConfigurationError, match="the role's URL"):
        grant(database_url, url, WORKER)
