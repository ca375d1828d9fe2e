"""PgBouncer in transaction mode before the ledger: a batch, a purge and the doctor through it."""

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

from llm_double import Double
from stage import WorkerProcess, abstracts
from stage.pgbouncer import PgBouncer, needs_pgbouncer
from stage.proven_dialect import prove_dialect
from stage.restored import restore
from tamis_cli.doctor.examination import LedgerReading, judge_ledger_server, read_ledger_server
from tamis_cli.doctor.finding import Level
from tamis_cli.doctor.work import POOLED, try_ledger
from tamis_producer import Client, ProducerSettings
from tamis_producer.ledger import connect
from tamis_producer.ledger.connection import CLIENT
from tamis_producer.retention.purge import purge
from tamis_producer.retention.subjects import find_subjects
from tamis_review import override
from tamis_schemas import Filter
from tamis_schemas.ledger.migrate import upgrade
from tamis_schemas.ledger.pooler import address, session

pytestmark = needs_pgbouncer


@pytest.fixture
def pgbouncer(database_url: str, tmp_path: Path) -> Iterator[PgBouncer]:
    with PgBouncer(tmp_path / "pgbouncer", database_url) as running:
        yield running


def test_a_batch_is_submitted_evaluated_purged_and_restored_through_it(
    pgbouncer: PgBouncer,
    broker_url: str,
    environment: dict[str, str],
    double: Double,
    tmp_path: Path,
) -> None:
    upgrade(pgbouncer.url())
    prove_dialect({**os.environ, **environment})
    through = {"TAMIS_DATABASE_URL": pgbouncer.url(), "TAMIS_LEASE_SECONDS": "2", "TAMIS_SWEEP_INTERVAL": "0.5"}
    more = {"TAMIS_RETENTION_DAYS": "1000", "TAMIS_CACHE_DAYS": "1000"}
    worker = WorkerProcess(tmp_path, "worker", environment | through | more, finds_out=True)
    settings = ProducerSettings(broker_url=broker_url, database_url=pgbouncer.url(), shard_size=10, shard_window=2)
    with Client(settings) as client:
        batch = client.submit(Filter(criteria="Is it?"), abstracts(60))
        assert batch.wait(60).decided == 60
        override(batch, 0, value=True, reviewer="Reviewer A")
        before = [one.model_dump_json() for one in batch.results()]
        with client.engine.connect() as connection:
            subjects = find_subjects(connection, ids=[batch.id])
        assert len(list(purge(client.engine, subjects, archive=tmp_path / "old"))) == 1
        restore(pgbouncer.url(), tmp_path / "old" / f"batch-{batch.id}")
        assert [one.model_dump_json() for one in client.batch(batch.id).results()] == before
    assert worker.stop() == 0
    for sign in ("Traceback", "prepared statement", "startup parameter"):
        assert sign not in worker.text()


def test_a_transaction_through_it_has_its_bounds_and_leaves_none_behind(pgbouncer: PgBouncer) -> None:
    engine = connect(pgbouncer.url(), replace(CLIENT, idle_within=7))
    where = address(pgbouncer.url())
    plain = create_engine(where.url, connect_args=session(where, {}))
    shown = text("SHOW idle_in_transaction_session_timeout")
    try:
        with engine.begin() as connection:
            assert connection.execute(shown).scalar_one() == "7s"
        with plain.begin() as connection:
            assert connection.execute(shown).scalar_one() == "0"
    finally:
        engine.dispose()
        plain.dispose()


def test_the_doctor_finds_it_and_says_how_to_tell(
    pgbouncer: PgBouncer, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert [finding.what for finding in try_ledger(pgbouncer.url(), pooled=True)] == ["a test row came back", POOLED]
    monkeypatch.setattr("tamis_cli.doctor.work.ANSWER_WITHIN", 0.3)
    (_, unheard) = try_ledger(pgbouncer.url(said=False), pooled=False)
    assert unheard.what == "no test notification came: is a pooler of transactions in front?"
    readings = [read_ledger_server(url) for url in (database_url, pgbouncer.url(), pgbouncer.url(said=False))]
    revisions = ("0",)
    said = []
    for reading in readings:
        assert isinstance(reading, LedgerReading)
        findings = judge_ledger_server(replace(reading, latency=0.001, revision="0"), revisions)
        said.append([(one.level, one.what) for one in findings if "pooler" in one.what])
    assert said[0] == []
    assert [level for level, _ in said[1]] == [Level.OK]
    assert [level for level, _ in said[2]] == [Level.WARNING]
