"""Restoration: an archived batch, or a review with its stages, comes back whole or not at all."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, Engine, func, select, update

from tamis_schemas import IllegalTransition, InputError
from tamis_schemas.ledger import batches, metadata, reviews
from tamis_schemas.ledger.revisions import head

from ..ledger import ledger_errors
from .archive import Archive, TableFile, verify
from .row_files import read_file
from .rows import Row, in_one_notation, write_rows


@dataclass(frozen=True)
class Restored:
    """One archive after it was to be restored."""

    archive: Archive
    there: bool = False  # it was there already, and nothing was done
    notes: tuple[str, ...] = ()  # what came back otherwise than it was


def restore(engine: Engine, folder: Path) -> Restored:
    """Bring back what an archive holds, after every file has been verified; nothing where it is there already.

    Its age counts from now on: a policy does not purge it at once.

    Raises:
        InputError: a file is missing or is not what the manifest says, or a newer release wrote it.
        IllegalTransition: it is being purged just now.
        LedgerUnavailable: the ledger does not answer.
    """
    archive = verify(folder)
    _check_tables(archive, folder)
    with ledger_errors(), engine.begin() as connection:
        connection.execute(select(func.pg_advisory_xact_lock(func.hashtext(f"restore {archive.id}"))))
        if _is_there(connection, archive):
            return Restored(archive, there=True)
        in_one_notation(connection)
        changed: list[str] = []
        by_table = {one.table: one for one in archive.tables}
        for table in metadata.sorted_tables:  # what is referred to comes first
            if (one := by_table.get(table.name)) is not None:
                rows = read_file(folder / one.file, archive.format, one.columns)
                if table is batches:
                    rows = _free_keys(connection, one, rows, changed)
                elif table is reviews:
                    rows = _free_content(connection, one, rows, changed)
                write_rows(connection, table.name, one.columns, rows)
        restored = update(batches).where(batches.c.id.in_(archive.batches))
        connection.execute(restored.values(restored_at=func.now()))
    return Restored(archive, notes=tuple(changed))


def _check_tables(archive: Archive, folder: Path) -> None:
    for one in archive.tables:
        table = metadata.tables.get(one.table)
        unknown = one.table if table is None else next((name for name in one.columns if name not in table.c), None)
        if unknown is not None:
            raise InputError(
                f"a ledger of revision {archive.revision} wrote it, with {unknown!r}; the tables of this release "
                f"(revision {head()}) hold no such thing: restore it with the release that wrote it",
                path=folder,
            )


def _is_there(connection: Connection, archive: Archive) -> bool:
    purging = connection.execute(select(batches.c.purging_at).where(batches.c.id.in_(archive.batches))).scalars().all()
    if any(since is not None for since in purging):
        raise IllegalTransition(
            f"{archive.noun} {archive.id} is being purged: run `tamis purge` again to bring that to its end, then "
            "restore it"
        )
    return bool(purging)


def _free_keys(connection: Connection, one: TableFile, rows: Iterator[Row], changed: list[str]) -> Iterator[Row]:
    """The batches' rows; an idempotency key that another batch has used since stays with that one."""
    for row in rows:
        values = _named(one, row)
        if values["idempotency_key"] is None:
            yield row
            continue
        used = select(batches.c.id).where(
            func.coalesce(batches.c.api_key_id, "") == (values.get("api_key_id") or ""),
            batches.c.idempotency_key == values["idempotency_key"],
        )
        taken = connection.execute(used).scalar_one_or_none()
        if taken is not None:
            changed.append(f"its idempotency key belongs to batch {taken} now")
            values["idempotency_key"] = None
        yield tuple(values.values())


def _free_content(connection: Connection, one: TableFile, rows: Iterator[Row], changed: list[str]) -> Iterator[Row]:
    """The review's row; where it was begun anew since, the same plan and records resume that one."""
    for row in rows:
        values = _named(one, row)
        used = select(reviews.c.id).where(reviews.c.content_sha256 == values["content_sha256"])
        taken: UUID | None = connection.execute(used).scalar_one_or_none()
        if taken is not None:
            changed.append(f"the same plan and records resume review {taken} now")
            values["content_sha256"] = f"restored {values['id']}"
        yield tuple(values.values())


def _named(one: TableFile, row: Sequence[Any]) -> dict[str, Any]:
    return dict(zip(one.columns, row, strict=True))
