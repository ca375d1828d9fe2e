"""Batches, reviews and audits by their ids, or by the beginning of an id."""

from dataclasses import dataclass
from uuid import UUID

from tamis_schemas import InvalidRequest, UnknownBatch

from .statements import RunsStatements

DIGITS = 32  # in an id, without hyphens
# By table: the first two rows whose ids lie in a span.
BEGINNING = {
    "batches": "SELECT id FROM batches WHERE id BETWEEN %(first)s AND %(last)s AND purging_at IS NULL LIMIT 2",
    "reviews": "SELECT id FROM reviews WHERE id BETWEEN %(first)s AND %(last)s AND purging_at IS NULL LIMIT 2",
    "audits": "SELECT id FROM audits WHERE id BETWEEN %(first)s AND %(last)s LIMIT 2",
}


FIRST_STAGE = "SELECT id FROM batches WHERE review_id = %(review_id)s AND stage = 0"


@dataclass(frozen=True)
class IdMatch:
    """The batch or the review that an id matches. One field is set, and the other field is None."""

    batch_id: UUID | None
    review_id: UUID | None


def find_batch(connection: RunsStatements, prefix: str) -> UUID:
    """Return the only batch whose id is, or begins with, `prefix`.

    Raises `UnknownBatch` if there is none, and `InvalidRequest` if there are several.
    """
    return _found(connection, "batches", prefix, "batch", "`tamis batches` lists them")


def find_review(connection: RunsStatements, prefix: str) -> UUID:
    """Return the only review whose id is, or begins with, `prefix`.

    Raises `UnknownBatch` if there is none, and `InvalidRequest` if there are several.
    """
    return _found(connection, "reviews", prefix, "review", "`tamis review list` lists them")


def find_audit(connection: RunsStatements, prefix: str) -> UUID:
    """Return the only audit whose id is, or begins with, `prefix`.

    Raises `UnknownBatch` if there is none, and `InvalidRequest` if there are several.
    """
    return _found(connection, "audits", prefix, "audit", "`tamis audit list ID` lists the audits of a batch")


def find_either(connection: RunsStatements, prefix: str) -> IdMatch:
    """Return the only review or batch whose id is, or begins with, `prefix`.

    Raises `UnknownBatch` if there is none, and `InvalidRequest` if there are several.
    """
    review = _find(connection, "reviews", prefix, "batch or review")
    batch = _find(connection, "batches", prefix, "batch or review")
    if review is not None and batch is not None:
        raise InvalidRequest(
            f"a review and a batch begin with {prefix!r}: give more of the id; `tamis batches --json` and "
            "`tamis review list --json` show the full ids"
        )
    if review is None and batch is None:
        raise UnknownBatch(f"there is no batch or review {prefix!r}: `tamis batches` and `tamis review list` list them")
    return IdMatch(batch_id=batch, review_id=review)


def find_first_batch(connection: RunsStatements, prefix: str) -> UUID:
    """Return the batch whose id is, or begins with, `prefix`; for a review's id, return the review's first batch.

    Raises `UnknownBatch` if no id matches, and `InvalidRequest` if several ids match.
    """
    match = find_either(connection, prefix)
    if match.batch_id is not None:
        return match.batch_id
    (row,) = connection.exec_driver_sql(FIRST_STAGE, {"review_id": match.review_id})
    return UUID(str(row.id))


def _found(connection: RunsStatements, table: str, prefix: str, noun: str, listing: str) -> UUID:
    if (id_ := _find(connection, table, prefix, noun)) is None:
        raise UnknownBatch(f"there is no {noun} {prefix!r}: {listing}")
    return id_


def _find(connection: RunsStatements, table: str, prefix: str, noun: str) -> UUID | None:
    text = prefix.strip().lower()
    if not text or any(character not in "0123456789abcdef-" for character in text):
        listing = {"review": "review list", "audit": "audit list ID"}.get(noun, "batches")
        raise UnknownBatch(f"{prefix!r} is no {noun} id: `tamis {listing}` lists them")
    span = beginning_with(text)
    if span is None:
        return None
    first, last = span
    ids = [row.id for row in connection.exec_driver_sql(BEGINNING[table], {"first": first, "last": last})]
    if len(ids) > 1:
        listing = {"reviews": "review list", "audits": "audit list ID"}.get(table, "batches")
        raise InvalidRequest(
            f"several {table} begin with {prefix!r}: give more of the id; `tamis {listing} --json` shows the full ids"
        )
    return UUID(str(ids[0])) if ids else None


def beginning_with(prefix: str) -> tuple[UUID, UUID] | None:
    """Return the lowest and the highest id that can begin with `prefix`; None if no id can.

    `prefix` must be in lower case.
    """
    digits = prefix.replace("-", "")
    if len(digits) > DIGITS:
        return None
    first, last = (UUID(digits.ljust(DIGITS, filler)) for filler in "0f")
    return (first, last) if str(first).startswith(prefix) else None  # its hyphens are at the places of an id's hyphens
