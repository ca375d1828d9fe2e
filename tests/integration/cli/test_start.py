"""Looking at batches: over one connection of the driver, with few modules, and with the words of a client."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
import redis
from typer.testing import CliRunner

from stage.imports import Imported, imported_by_command
from tamis_cli.commands.app import app, load_commands
from tamis_cli.commands.facts import batch_facts, people_counts, view_facts
from tamis_producer import Client, ProducerSettings
from tamis_producer.client.glance import glance
from tamis_producer.ledger.direct import DirectConnection, direct_connection, driver_arguments
from tamis_producer.ledger.pool_kinds import CLIENT
from tamis_producer.ledger.worker_view import NO_WORKER, WorkerReport, WorkerState
from tamis_review import count_human_decisions, override
from tamis_schemas import ConfigurationError, Filter, LedgerUnavailable, UnknownBatch
from tamis_schemas.batches import wire

load_commands("status")

FEW = 515  # modules; with SQLAlchemy they are over 600
LOOKING = {"rich", "typer", "pydantic", "psycopg", "asyncio"}
NOWHERE = "redis://127.0.0.1:1/0"  # a broker is not asked


@pytest.fixture
def ledger(database_url: str) -> Iterator[Client]:
    with Client(ProducerSettings(broker_url=NOWHERE, database_url=database_url)) as client:
        yield client


def lasting(facts: Mapping[str, Any]) -> dict[str, Any]:
    """What does not change while a batch waits."""
    return json.loads(json.dumps({**facts, "elapsed_seconds": None}))


def looked(*arguments: str, url: str) -> Imported:
    done = imported_by_command(*arguments, env={"TAMIS_BROKER_URL": NOWHERE, "TAMIS_DATABASE_URL": url})
    assert done.code == 0, done.err
    return done


def test_batches_and_status_import_little_and_say_what_a_client_says(ledger: Client, database_url: str) -> None:
    items = [{"id": f"r{n}", "title": f"Title {n}"} for n in range(3)]
    first = ledger.submit(Filter(criteria="Is it about cats?"), items, label="first.csv")
    second = ledger.submit(Filter(criteria="Is it about cats?"), items[:1], label="second.csv", use_cache=False)
    calls = ledger.submit(Filter(criteria="Is it about cats?"), items[:2], service="a service")

    listed = looked("batches", url=database_url)
    assert (listed.heavy, len(listed.modules) <= FEW) == (LOOKING, True)
    assert [line.split()[0] for line in listed.out.splitlines()[1:3]] == [second.id[:8], first.id[:8]]
    assert calls.id[:8] not in listed.out
    assert "a service" in listed.out

    told = looked("status", first.id[:13], "--json", url=database_url)
    assert (told.heavy, len(told.modules) <= FEW) == (LOOKING, True)
    assert lasting(json.loads(told.out)) == lasting(batch_facts(first))

    with ledger.engine.begin() as connection:
        leases = "('here', now() + interval '1 minute'), ('gone', now() - interval '1 minute')"
        connection.exec_driver_sql(f"INSERT INTO workers (id, lease_until) VALUES {leases}")
    whole = looked("status", "--json", url=database_url)
    assert (whole.heavy, len(whole.modules) <= FEW) == (LOOKING, True)
    assert [view["id"] for view in json.loads(whole.out)["workers"]] == ["here"]
    assert {view["id"] for view in json.loads(whole.out)["open_batches"]} == {first.id, second.id}

    # The driver alone does not read what is said to a pooler: SQLAlchemy does, and it says the same.
    pooled = looked("batches", "--json", url=f"{database_url}&pgbouncer=true")
    assert "sqlalchemy" in pooled.modules
    assert [lasting(one) for one in json.loads(pooled.out)] == [lasting(view_facts(view)) for view in ledger.batches()]


def test_while_postgres_is_read_only_the_status_shows_workers_by_their_reports_in_redis(
    client: Client, settings: ProducerSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch = client.submit(Filter(criteria="Is it about cats?"), [{"id": "r1", "title": "A cat"}])
    report = WorkerReport(id="w", host="here", pid=7, state=WorkerState.HOLDING_BACK, reason="Postgres is read-only")
    read_only = f"{settings.database}&options=-c%20default_transaction_read_only%3Don"
    monkeypatch.setenv("TAMIS_BROKER_URL", settings.broker)
    for url, known in ((settings.database, False), (read_only, True)):
        monkeypatch.setenv("TAMIS_DATABASE_URL", url)
        with redis.Redis.from_url(settings.broker) as server:
            server.set(wire.worker_key(report.id), report.model_dump_json(), px=60_000)
        told = CliRunner().invoke(app, ["status"], env={"COLUMNS": "200"})
        assert told.exit_code == 0, told.output
        assert ("7@here" in told.output, NO_WORKER in told.output) == (known, not known)
        assert batch.id[:8] in told.output


def test_a_glance_is_that_of_the_driver_and_counts_what_people_decided(
    ledger: Client, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TAMIS_BROKER_URL", NOWHERE)
    monkeypatch.setenv("TAMIS_DATABASE_URL", database_url)
    batch = ledger.submit(Filter(criteria="Is it about cats?"), [{"id": "r1", "title": "A cat"}])
    asked: list[str] = []
    run = DirectConnection.exec_driver_sql
    monkeypatch.setattr(
        DirectConnection, "exec_driver_sql", lambda self, text, given: asked.append(text) or run(self, text, given)
    )
    with glance() as seen:
        one = seen.batch(batch.id)
        assert (one.id, one.summaries(), people_counts(one)) == (batch.id, [], (None, None))
        assert one.status().counts == batch.status().counts
        assert len(asked) == 4  # the id, the view, the summaries, and whether anybody decided
        with pytest.raises(UnknownBatch, match="there is no batch"):
            seen.batch("00000000")
        override(ledger.batch(batch.id), 0, True, reviewer="ann")
        assert people_counts(one)[0] == count_human_decisions(batch) is not None


def test_its_connection_is_set_and_its_errors_are_said_as_those_of_a_client(ledger: Client, database_url: str) -> None:
    arguments = driver_arguments(database_url)
    assert arguments is not None
    told = (
        "SELECT current_setting('application_name') AS name, current_setting('statement_timeout') AS within, "
        "current_setting('idle_in_transaction_session_timeout') AS idle, current_setting('tcp_user_timeout') AS lost"
    )
    with direct_connection(arguments, CLIENT) as direct, ledger.engine.connect() as connection:
        assert [tuple(row) for row in direct.exec_driver_sql(told, {})] == list(connection.exec_driver_sql(told, {}))
    with pytest.raises(ConfigurationError, match="no tables yet"), direct_connection(arguments, CLIENT) as direct:
        direct.exec_driver_sql("SELECT id FROM nowhere", {})
    with pytest.raises(ConfigurationError, match="TAMIS_DATABASE_URL is invalid"):
        direct_connection({**arguments, "colour": "red"}, CLIENT).__enter__()
    with pytest.raises(LedgerUnavailable, match="Postgres does not answer"):
        direct_connection({"host": "127.0.0.1", "port": "1", "dbname": "tamis"}, CLIENT).__enter__()
