"""Exactly the rights that docs/security.md names are enough: for a batch, for Flower, and for nothing else."""

import re
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
import redis
from sqlalchemy import text
from sqlalchemy.exc import ProgrammingError

from llm_double import Double
from stage import WorkerProcess, abstracts, wait_until
from stage.kept import write_kept_review
from tamis_producer import Client, ProducerSettings
from tamis_producer.audits import AuditDecision
from tamis_producer.ledger import connect
from tamis_producer.retention import find_subjects, purge
from tamis_schemas import Filter
from tamis_worker.embedded.flower import Flower
from tamis_worker.embedded.valkey import Valkey

TEXT = (Path(__file__).parents[2] / "docs" / "security.md").read_text("utf-8")
QUESTION = Filter(criteria="Is it a trial?")
PASSWORD = "a-password-of-the-test"


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


@pytest.fixture
def ledger(database_url: str) -> Iterator[str]:
    """The URL of a role with the rights of the document, in a ledger that another owns."""
    with psycopg.connect(database_url.replace("+psycopg", ""), autocommit=True) as connection:
        connection.execute("CREATE ROLE tamis_app LOGIN")
        for statement in block("sql").split(";"):
            if statement.strip():
                connection.execute(statement.encode())
        yield database_url.replace("://postgres@", "://tamis_app@")
        connection.execute("DROP OWNED BY tamis_app")
        connection.execute("DROP ROLE tamis_app")


def test_a_batch_and_flower_need_no_more_rights_than_the_document_says(
    broker: str, ledger: str, own_valkey: Valkey, double: Double, tmp_path: Path
) -> None:
    environment = {
        "TAMIS_BROKER_URL": broker,
        "TAMIS_DATABASE_URL": ledger,
        "TAMIS_LLM_BASE_URL": double.base_url,
        "TAMIS_LLM_API_KEY": "sk-test-of-the-double",
        "TAMIS_MODEL": "double-1",
        "TAMIS_SWEEP": "0.5",
        "TAMIS_LEASE": "2",
    }
    (tmp_path / "log").mkdir()
    flower = Flower(tmp_path, environment, usual_port=None)
    worker, other = (WorkerProcess(tmp_path, name, environment) for name in ("one", "two"))
    try:
        flower.start()
        settings = ProducerSettings(broker_url=broker, database_url=ledger, shard_size=5, window=2)
        with Client(settings) as client:
            batch = client.submit(QUESTION, abstracts(20))
            other.kill()  # what it held is restored
            assert batch.wait(60).decided == 20
            later = client.submit(QUESTION, [*abstracts(3), {"id": "again"}], use_cache=False)
            later.pause()
            later.resume()
            later.wait(60)
            assert list(later.results())
            audit = batch.draw_audit(3, seed=1)
            made = batch.override(0, value=True, reviewer="Reviewer A", note="seen")
            assert batch.overrides() == [made]
            assert batch.withdraw_override(0, reviewer="Reviewer A").withdrawn
            said = [AuditDecision(item.index, include=True, reviewer="Reviewer A") for item in audit.items]
            assert len(client.record_audit(audit.id, said, include_missed=True).overrides) == audit.sample
            assert batch.agreement().audits.n == audit.sample
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


def test_a_role_that_purges_needs_no_more_rights_than_the_document_says(ledger: str) -> None:
    owner = ledger.replace("+psycopg", "").replace("://tamis_app@", "://postgres@")
    with psycopg.connect(owner, autocommit=True) as connection:
        connection.execute("CREATE ROLE tamis_purge LOGIN")
        for statement in (block("sql").replace("tamis_app", "tamis_purge") + block("postgres")).split(";"):
            if statement.strip():
                connection.execute(statement.encode())
    engine = connect(ledger.replace("://tamis_app@", "://tamis_purge@"))
    try:
        owners = connect(ledger.replace("://tamis_app@", "://postgres@"))
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


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM items",
        "DELETE FROM item_states",
        "DELETE FROM payloads",
        "UPDATE payloads SET origin = 1",
        "UPDATE tallies SET decided = 0",
        "INSERT INTO tallies (batch_id, round, backend) VALUES (gen_random_uuid(), 0, 0)",
        "DELETE FROM results",
        "UPDATE overrides SET reviewer = 'Eve'",
        "DELETE FROM overrides",
        "UPDATE audits SET population = 1",
        "UPDATE audit_decisions SET include = true",
        "DELETE FROM audit_items",
        "ALTER TABLE overrides DISABLE TRIGGER never_changed",
        "DROP TABLE item_states",
        "ALTER TABLE item_states DISABLE TRIGGER ALL",
        "TRUNCATE batches",
        "UPDATE alembic_version SET version_num = '1'",
        "CREATE TABLE of_mine (a int)",
        "COPY items TO PROGRAM 'cat'",
    ],
)
def test_the_role_may_do_nothing_else(ledger: str, statement: str) -> None:
    with (
        psycopg.connect(ledger.replace("+psycopg", "")) as connection,
        pytest.raises((psycopg.errors.InsufficientPrivilege, psycopg.errors.FeatureNotSupported)),
    ):
        connection.execute(statement.encode())
