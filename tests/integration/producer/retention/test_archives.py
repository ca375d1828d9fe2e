"""Archives: what psql restores is what was there, and nothing is deleted that could not be read back."""

import io
import json
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import Engine, Text, cast, func, select, text, update

from stage.kept import QUESTION, finish, write_kept_review
from stage.restored import restore, run_psql
from stage.screened import Ledgered, write_batch
from tamis_producer.ledger import read_overrides, read_summaries, stream_results
from tamis_producer.ledger.audits import read_audits
from tamis_producer.retention import archive as archive_module
from tamis_producer.retention.holdings import holdings
from tamis_producer.retention.purge import purge
from tamis_producer.retention.subjects import find_subjects
from tamis_review.decisions import record_overrides
from tamis_review.explanation import read_explanation
from tamis_review.report import ReportForm, write_report
from tamis_schemas import OperationFailed
from tamis_schemas.ledger import batches, items, payloads, reviews, webhooks

from .conftest import left

Rows = dict[str, list[tuple[object, ...]]]


def all_rows(engine: Engine, review_id: UUID) -> Rows:
    """Every row as Postgres writes it, but for numbers that a ledger gives by itself and what restoring changes."""
    changed = {batches.c.restored_at, reviews.c.content_sha256}
    with engine.connect() as connection:
        batch_ids = connection.execute(select(batches.c.id)).scalars().all()
        return {
            one.table.name: [
                tuple(row)
                for row in connection.execute(
                    select(*(cast(c, Text) for c in one.table.c if c.identity is None and c not in changed)).order_by(
                        *one.table.primary_key
                    )
                )
            ]
            for one in holdings(batch_ids, review_id)
            if one.archived
        }


def told(engine: Engine, review_id: UUID) -> list[Any]:
    """Report, results, summaries, explanations and the history of people's decisions, as their readers get them."""
    stream = io.StringIO()
    write_report(engine, str(review_id), ReportForm.JSON, stream)
    report = stream.getvalue()
    moment = json.loads(report)["read_at"]
    # As the methods say it, to the minute; what was done within the same minute keeps its own.
    report = report.replace(f"wrote this report on {moment[:10]} {moment[11:16]}", "wrote this report now")
    with engine.connect() as connection:
        stages = connection.execute(select(batches.c.id).order_by(batches.c.stage)).scalars().all()
        return [report.replace(moment, "now")] + [
            (
                [one.model_dump_json() for one in stream_results(connection, stage)],
                read_summaries(connection, stage),
                [read_explanation(connection, stage, index) for index in range(2)],
                [one.model_dump_json() for one in read_overrides(connection, stage, history=True)],
                read_audits(connection, stage),
            )
            for stage in stages
        ]


def purged(engine: Engine, review_id: UUID, folder: Path) -> Path:
    """The folder of the archive, once nothing is left in the ledger."""
    with engine.connect() as connection:
        subjects = find_subjects(connection, ids=[str(review_id)])
    (one,) = purge(engine, subjects, archive=folder)
    with engine.connect() as connection:
        assert set(left(connection).values()) == {0}
    assert one.archive == folder / f"review-{review_id}"
    return one.archive


def lines_of(folder: Path) -> dict[str, int]:
    return {path.stem: path.read_bytes().count(b"\n") for path in folder.glob("*.copy")}


@contextmanager
def full_disk(room: int) -> Iterator[None]:
    """No file of this process grows beyond so many bytes."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def test_what_psql_restores_is_what_was_there(
    engine: Engine, database_url: str, review_id: UUID, tmp_path: Path
) -> None:
    rows, before = all_rows(engine, review_id), told(engine, review_id)
    folder = purged(engine, review_id, tmp_path)
    assert lines_of(folder) == {name: len(found) for name, found in rows.items()}
    assert {path.name for path in folder.iterdir()} == {"restore.sql", *(f"{name}.copy" for name in rows)}
    with engine.connect() as connection:
        archived = connection.execute(select(func.now())).scalar_one()
    restore(database_url, folder)
    assert all_rows(engine, review_id) == rows
    assert told(engine, review_id) == before
    with engine.connect() as connection:
        assert all(at > archived for at in connection.execute(select(batches.c.restored_at)).scalars())
        assert connection.execute(select(reviews.c.content_sha256)).scalar_one() == f"restored {review_id}"
    again = run_psql(database_url, folder)
    assert (again.returncode, "duplicate key" in again.stderr) == (3, True)
    assert all_rows(engine, review_id) == rows


@pytest.mark.night
def test_a_ledger_that_has_given_the_same_numbers_to_others_takes_it_all_the_same(
    engine: Engine, database_url: str, review_id: UUID, tmp_path: Path
) -> None:
    before = told(engine, review_id)
    folder = purged(engine, review_id, tmp_path)
    with engine.begin() as connection:  # another ledger, which counts from 1
        for table in ("overrides", "audit_decisions"):
            connection.execute(text(f"ALTER TABLE {table} ALTER COLUMN id RESTART WITH 1"))
    restore(database_url, folder)
    assert told(engine, review_id) == before


def test_what_others_use_since_stays_theirs(engine: Engine, database_url: str, review_id: UUID, tmp_path: Path) -> None:
    with engine.begin() as connection:
        connection.execute(update(batches).where(batches.c.stage == 0).values(idempotency_key="mine"))
        first = (
            select(payloads.c.batch_id).join(batches, batches.c.id == payloads.c.batch_id).where(batches.c.stage == 0)
        )
        called = update(payloads).where(payloads.c.batch_id == first.limit(1).scalar_subquery(), payloads.c.idx == 0)
        connection.execute(called.values(call_id=UUID(int=1)))
        content = connection.execute(select(reviews.c.content_sha256)).scalar_one()
    folder = purged(engine, review_id, tmp_path)
    with engine.begin() as connection:
        connection.execute(
            text(
                "WITH r AS (INSERT INTO reviews (id, content_sha256, label, plan) "
                "VALUES (gen_random_uuid(), :content, 'anew', '{}')), "
                "b AS (INSERT INTO batches (id, content_sha256, operation, params, n_items, shard_size, window_size, "
                "idempotency_key) VALUES (gen_random_uuid(), '', 'filter', '{}', 0, 1, 1, 'mine') RETURNING id) "
                "INSERT INTO payloads (batch_id, idx, payload, call_id) SELECT id, 0, '{}', :call FROM b"
            ),
            {"content": content, "call": UUID(int=1)},
        )
        write_kept_review(connection)
    restore(database_url, folder)
    with engine.connect() as connection:
        keys = connection.execute(select(batches.c.idempotency_key)).scalars().all()
        calls = connection.execute(select(payloads.c.call_id).where(payloads.c.call_id.is_not(None))).scalars().all()
    assert (keys.count("mine"), calls) == (1, [UUID(int=1)])


def test_what_was_told_once_is_not_told_again(
    engine: Engine, database_url: str, review_id: UUID, tmp_path: Path
) -> None:
    """Neither of a batch that takes its key's callback, nor of one that fails more than its callback allows."""
    with engine.begin() as connection:
        connection.execute(
            text(
                "INSERT INTO api_keys (id, label, secret_sha256, scopes, callback) "
                """VALUES ('k', 'k', '', '{}', '{"url": "https://b.example/"}')"""
            )
        )
        connection.execute(update(batches).where(batches.c.stage == 0).values(api_key_id="k"))
        callback = {"url": "https://b.example/", "failed_share": 0.1}
        connection.execute(update(batches).where(batches.c.stage == 1).values(callback=callback))
        connection.execute(
            text("UPDATE summaries SET summary = jsonb_set(summary::jsonb, '{counts,failed}', '5')::json")
        )
    rows = all_rows(engine, review_id)
    restore(database_url, purged(engine, review_id, tmp_path))
    assert all_rows(engine, review_id) == rows
    with engine.connect() as connection:
        assert connection.execute(select(webhooks.c.url)).scalars().all() == ["https://a.example/"]


def test_a_file_that_is_not_whole_restores_nothing(
    engine: Engine, database_url: str, review_id: UUID, tmp_path: Path
) -> None:
    folder = purged(engine, review_id, tmp_path)
    changed = folder / "item_states.copy"
    lines = changed.read_bytes().splitlines(keepends=True)
    complaints = {
        b"".join(lines[:-1]): "item_states.copy does not hold its 13 rows",
        b"".join(lines)[:-20]: "item_states",
        None: "item_states.copy: No such file",
    }
    for wrong, complaint in complaints.items():
        changed.unlink() if wrong is None else changed.write_bytes(wrong)
        done = run_psql(database_url, folder)
        assert (done.returncode, complaint in done.stderr) == (3, True), done.stderr
    with engine.connect() as connection:
        assert set(left(connection).values()) == {0}


def test_what_could_not_be_read_back_is_not_deleted(
    engine: Engine, review_id: UUID, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with engine.connect() as connection:
        before = left(connection)
        subjects = find_subjects(connection, ids=[str(review_id)])
    sync = archive_module._sync

    def lossy(path: Path) -> None:
        if path.name == "results.copy":
            path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[1:]))
        sync(path)

    monkeypatch.setattr(archive_module, "_sync", lossy)
    with pytest.raises(OperationFailed, match=r"nothing is deleted.*results.copy holds \d+ of \d+ rows"):
        list(purge(engine, subjects, archive=tmp_path))
    monkeypatch.undo()
    (tmp_path / "no-folder").write_text("")
    with pytest.raises(OperationFailed, match="nothing is deleted"):
        list(purge(engine, subjects, archive=tmp_path / "no-folder"))
    with pytest.raises(OperationFailed, match=r"nothing is deleted.*File too large"), full_disk(1_000):
        list(purge(engine, subjects, archive=tmp_path))
    with engine.connect() as connection:
        assert left(connection) == before
        assert connection.execute(select(func.count(batches.c.purging_at))).scalar_one() == 0
    assert [path.name for path in tmp_path.iterdir()] == ["no-folder"]


def test_a_newer_archive_of_the_same_batch_takes_the_place_of_the_older(
    engine: Engine, database_url: str, review_id: UUID, tmp_path: Path
) -> None:
    folder = purged(engine, review_id, tmp_path)
    restore(database_url, folder)
    with engine.begin() as connection:
        stage = connection.execute(select(batches.c.id).where(batches.c.stage == 0)).scalar_one()
        record_overrides.record(connection, stage, [record_overrides.HumanDecision(9, "include", "Reviewer Z")])
    before = all_rows(engine, review_id)
    assert purged(engine, review_id, tmp_path) == folder
    assert [path.name for path in tmp_path.iterdir()] == [folder.name]
    restore(database_url, folder)
    assert all_rows(engine, review_id) == before


def test_what_is_being_purged_is_not_restored_beside_itself(
    engine: Engine, database_url: str, review_id: UUID, tmp_path: Path
) -> None:
    folder = purged(engine, review_id, tmp_path)
    restore(database_url, folder)
    with engine.begin() as connection:
        connection.execute(update(batches).values(purging_at=func.now()))
        before = left(connection)
    assert run_psql(database_url, folder).returncode == 3
    with engine.connect() as connection:
        assert left(connection) == before


def test_hundreds_of_rows_come_back_in_their_order(engine: Engine, database_url: str, tmp_path: Path) -> None:
    with engine.begin() as connection:
        rows = [Ledgered({"id": f"r{n}"}, value=n % 2 == 0, confidence=n / 500) for n in range(450)]
        batch_id = write_batch(connection, rows, operation=QUESTION)
        finish(connection, batch_id, len(rows))
    with engine.connect() as connection:
        before = [one.model_dump_json() for one in stream_results(connection, batch_id)]
        (subject,) = find_subjects(connection, ids=[str(batch_id)])
    (done,) = purge(engine, [subject], archive=tmp_path)
    assert done.archive == tmp_path / f"batch-{batch_id}"
    restore(database_url, done.archive)
    with engine.connect() as connection:
        assert [one.model_dump_json() for one in stream_results(connection, batch_id)] == before
        assert connection.execute(select(func.count()).select_from(items)).scalar_one() == 450
