"""Archives: what is restored is what was there, and nothing is deleted that could not be read back."""

import gzip
import io
import json
import shutil
import sys
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import Engine, Text, cast, func, select, text, update

from stage.kept import QUESTION, finish, write_kept_review
from stage.screened import Ledgered, write_batch
from tamis_producer.ledger import read_overrides, read_summaries, stream_results
from tamis_producer.ledger.audits import read_audits
from tamis_producer.retention import archive as archive_module
from tamis_producer.retention import row_files as row_files_module
from tamis_producer.retention import rows as rows_module
from tamis_producer.retention.archive import find_archives, read_archive
from tamis_producer.retention.holdings import holdings
from tamis_producer.retention.purge import Purged, purge
from tamis_producer.retention.restoration import restore
from tamis_producer.retention.row_files import ArchiveFormat
from tamis_producer.retention.subjects import find_subjects
from tamis_review.decisions import record_overrides
from tamis_review.explanation import read_explanation
from tamis_review.report import ReportForm, write_report
from tamis_schemas import ConfigurationError, IllegalTransition, InputError, OperationFailed
from tamis_schemas.ledger import batches, items, reviews

from .conftest import left

FORMS = list(ArchiveFormat)


def all_rows(engine: Engine, review_id: UUID) -> dict[str, list[tuple[object, ...]]]:
    """Every row as Postgres writes it, but for numbers that a ledger gives by itself and the time of a return."""
    with engine.connect() as connection:
        batch_ids = connection.execute(select(batches.c.id)).scalars().all()
        return {
            one.table.name: [
                tuple(row)
                for row in connection.execute(
                    select(
                        *(cast(c, Text) for c in one.table.c if c.identity is None and c.name != "restored_at")
                    ).order_by(*one.table.primary_key)
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


def purged(engine: Engine, review_id: UUID, folder: Path, form: ArchiveFormat = ArchiveFormat.JSONL) -> Purged:
    with engine.connect() as connection:
        subjects = find_subjects(connection, ids=[str(review_id)])
    (one,) = purge(engine, subjects, archive=folder, form=form)
    with engine.connect() as connection:
        assert set(left(connection).values()) == {0}
    return one


@pytest.mark.parametrize("form", FORMS)
def test_what_is_restored_is_what_was_there(
    engine: Engine, review_id: UUID, tmp_path: Path, form: ArchiveFormat
) -> None:
    rows, before = all_rows(engine, review_id), told(engine, review_id)
    done = purged(engine, review_id, tmp_path, form)
    assert done.archive is not None
    counted = {one.table: one.rows for one in done.archive.tables}
    assert counted == {name: len(found) for name, found in rows.items()}
    (folder,) = find_archives(tmp_path)
    assert folder == tmp_path / f"review-{review_id}"
    assert {path.name for path in folder.iterdir()} == {"manifest.json", *(one.file for one in done.archive.tables)}
    assert sum(path.stat().st_size for path in folder.glob(f"*{form.suffix}")) == done.archive.bytes
    restored = restore(engine, folder)
    assert (restored.there, restored.notes) == (False, ())
    assert all_rows(engine, review_id) == rows
    assert told(engine, review_id) == before
    with engine.connect() as connection:
        assert connection.execute(select(batches.c.restored_at)).scalars().all() != [None, None]
    assert restore(engine, folder).there
    assert all_rows(engine, review_id) == rows


def test_a_ledger_that_has_given_the_same_numbers_to_others_takes_it_all_the_same(
    engine: Engine, review_id: UUID, tmp_path: Path
) -> None:
    before = told(engine, review_id)
    purged(engine, review_id, tmp_path)
    with engine.begin() as connection:  # another ledger, which counts from 1
        for table in ("overrides", "audit_decisions"):
            connection.execute(text(f"ALTER TABLE {table} ALTER COLUMN id RESTART WITH 1"))
    restore(engine, tmp_path / f"review-{review_id}")
    assert told(engine, review_id) == before


def test_what_others_use_since_stays_theirs(engine: Engine, review_id: UUID, tmp_path: Path) -> None:
    with engine.begin() as connection:
        connection.execute(update(batches).where(batches.c.stage == 0).values(idempotency_key="mine"))
        content = connection.execute(select(reviews.c.content_sha256)).scalar_one()
    purged(engine, review_id, tmp_path)
    with engine.begin() as connection:
        connection.execute(
            text(
                "WITH r AS (INSERT INTO reviews (id, content_sha256, label, plan) "
                "VALUES (gen_random_uuid(), :content, 'anew', '{}')) "
                "INSERT INTO batches (id, content_sha256, operation, params, n_items, shard_size, window_size, "
                "idempotency_key) VALUES (gen_random_uuid(), '', 'filter', '{}', 0, 1, 1, 'mine')"
            ),
            {"content": content},
        )
        write_kept_review(connection)  # its batches have no key, as one of those to be restored
    notes = restore(engine, tmp_path / f"review-{review_id}").notes
    assert [note.split(" ")[0:3] for note in notes] == [["the", "same", "plan"], ["its", "idempotency", "key"]]
    with engine.connect() as connection:
        keys = connection.execute(select(batches.c.idempotency_key)).scalars().all()
    assert keys.count("mine") == 1


def test_a_file_that_was_changed_is_not_restored(engine: Engine, review_id: UUID, tmp_path: Path) -> None:
    purged(engine, review_id, tmp_path)
    folder = tmp_path / f"review-{review_id}"
    changed = folder / "items.jsonl.gz"
    if not changed.exists():
        changed = next(folder.glob("*states.jsonl.gz"))
    whole = changed.read_bytes()
    for wrong in (whole[:-20], gzip.compress(gzip.decompress(whole).replace(b"decided", b"failed")), None):
        changed.unlink() if wrong is None else changed.write_bytes(wrong)
        with pytest.raises(InputError, match=changed.name):
            restore(engine, folder)
    with engine.connect() as connection:
        assert set(left(connection).values()) == {0}
    with pytest.raises(InputError, match="there is no archive"):
        find_archives(tmp_path / "elsewhere")
    (folder / "manifest.json").write_text("{}")
    with pytest.raises(InputError, match="no manifest"):
        restore(engine, folder)


def test_an_archive_of_a_release_with_other_tables_says_so(engine: Engine, review_id: UUID, tmp_path: Path) -> None:
    purged(engine, review_id, tmp_path)
    manifest = tmp_path / f"review-{review_id}" / "manifest.json"
    written = json.loads(manifest.read_text())
    written["tables"][0]["table"] = "of_tomorrow"
    written["revision"] = "9999"
    manifest.write_text(json.dumps(written))
    with pytest.raises(InputError, match="revision 9999 wrote it, with 'of_tomorrow'"):
        restore(engine, manifest.parent)


def test_what_could_not_be_read_back_is_not_deleted(
    engine: Engine, review_id: UUID, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with engine.connect() as connection:
        before = left(connection)
        subjects = find_subjects(connection, ids=[str(review_id)])

    def lossy(path: Path, form: ArchiveFormat, columns: object, rows: Any) -> None:
        read = list(rows)
        write_file(path, form, columns, read[1:] if path.name.startswith("results") else read)  # type: ignore[arg-type]

    write_file = archive_module.write_file
    monkeypatch.setattr(archive_module, "write_file", lossy)
    with pytest.raises(OperationFailed, match=r"nothing is deleted.*results"):
        list(purge(engine, subjects, archive=tmp_path))
    (tmp_path / "no-folder").write_text("")
    with pytest.raises(OperationFailed, match="nothing is deleted"):
        list(purge(engine, subjects, archive=tmp_path / "no-folder"))
    with engine.connect() as connection:
        assert left(connection) == before
        assert connection.execute(select(func.count(batches.c.purging_at))).scalar_one() == 0
    assert [path.name for path in tmp_path.iterdir()] == ["no-folder"]


def test_a_newer_archive_of_the_same_batch_takes_the_place_of_the_older(
    engine: Engine, review_id: UUID, tmp_path: Path
) -> None:
    purged(engine, review_id, tmp_path)
    folder = tmp_path / f"review-{review_id}"
    restore(engine, folder)
    with engine.begin() as connection:
        stage = connection.execute(select(batches.c.id).where(batches.c.stage == 0)).scalar_one()
        record_overrides.record(connection, stage, [record_overrides.HumanDecision(9, "include", "Reviewer Z")])
    before = all_rows(engine, review_id)
    purged(engine, review_id, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [folder.name]
    restore(engine, folder)
    assert all_rows(engine, review_id) == before


def test_what_is_being_purged_is_not_restored_beside_itself(engine: Engine, review_id: UUID, tmp_path: Path) -> None:
    purged(engine, review_id, tmp_path)
    folder = tmp_path / f"review-{review_id}"
    restore(engine, folder)
    with engine.begin() as connection:
        connection.execute(update(batches).values(purging_at=func.now()))
    with pytest.raises(IllegalTransition, match="run `tamis purge` again"):
        restore(engine, folder)


def test_more_rows_than_one_portion_come_back_in_their_order(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (rows_module, row_files_module):
        monkeypatch.setattr(module, "PORTION", 200)
    with engine.begin() as connection:
        rows = [Ledgered({"id": f"r{n}"}, value=n % 2 == 0, confidence=n / 500) for n in range(450)]
        batch_id = write_batch(connection, rows, operation=QUESTION)
        finish(connection, batch_id, len(rows))
    for form in FORMS:
        with engine.connect() as connection:
            before = [one.model_dump_json() for one in stream_results(connection, batch_id)]
            (subject,) = find_subjects(connection, ids=[str(batch_id)])
        folder = tmp_path / form.value
        list(purge(engine, [subject], archive=folder, form=form))
        restore(engine, folder / f"batch-{batch_id}")
        with engine.connect() as connection:
            assert [one.model_dump_json() for one in stream_results(connection, batch_id)] == before
            assert connection.execute(select(func.count()).select_from(items)).scalar_one() == 450


def test_parquet_without_its_extra_is_said_before_anything_is_done(
    engine: Engine, review_id: UUID, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with engine.connect() as connection:
        before = left(connection)
        subjects = find_subjects(connection, ids=[str(review_id)])
    with pytest.raises(ConfigurationError, match=r"tamis\[parquet\]"):
        list(purge(engine, subjects, archive=tmp_path, form=ArchiveFormat.PARQUET))
    with engine.connect() as connection:
        assert left(connection) == before


def test_an_archive_is_read_by_anybody_without_tamis(engine: Engine, review_id: UUID, tmp_path: Path) -> None:
    import pyarrow.parquet

    for form in FORMS:
        purged(engine, review_id, tmp_path, form)
        archive = read_archive(tmp_path / f"review-{review_id}")
        (of_items,) = [one for one in archive.tables if "payload" in one.columns]
        path = tmp_path / f"review-{review_id}" / of_items.file
        if form is ArchiveFormat.PARQUET:
            rows = pyarrow.parquet.read_table(path).to_pylist()
        else:
            rows = [json.loads(line) for line in gzip.decompress(path.read_bytes()).decode().split("\n") if line]
        assert [json.loads(row["payload"])["id"] for row in rows if row["batch_id"] == str(archive.batches[0])] == [
            f"r{n}" for n in [*range(10), 11]
        ]
        restore(engine, tmp_path / f"review-{review_id}")
        shutil.rmtree(tmp_path / f"review-{review_id}")
