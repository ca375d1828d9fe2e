"""The screening mode of a batch in the ledger, and the records whose decisions this mode hides from a reviewer."""

from collections.abc import Collection
from uuid import UUID

from sqlalchemy import ARRAY, Connection, Integer, any_, insert, literal, select, true

from tamis_producer.ledger.audits import read_unjudged
from tamis_producer.ledger.copies import needs_no_reading
from tamis_producer.ledger.overrides import one_at_a_time, read_operation_name, standing_at
from tamis_schemas import ScreeningMode, ScreeningModeSet
from tamis_schemas.ledger import items, screening_modes
from tamis_schemas.operations import check_decides

from .record_overrides import checked_words

READERS = 2  # people in an independent pair


def is_hidden(mode: ScreeningMode, decided: Collection[str], me: str, *, kept_out: bool = False) -> bool:
    """Return whether the decisions of people and the model on a record are hidden from a reviewer.

    Args:
        mode: the screening mode of the batch.
        decided: the names of the reviewers who currently have a decision on the record in this batch.
        me: the reviewer's name.
        kept_out: whether the record is a duplicate, or was excluded by the initial filter. Until a person decides on
            such a record, nothing is hidden.
    """
    if not mode.blind or (kept_out and not decided):
        return False
    return len(set(decided)) < READERS if mode is ScreeningMode.PAIR else me not in decided


def read_mode(connection: Connection, batch_id: UUID) -> ScreeningMode:
    """Return the screening mode of a batch; `single` by default."""
    return read_mode_set(connection, batch_id).mode


def read_mode_set(connection: Connection, batch_id: UUID) -> ScreeningModeSet:
    """Return the screening mode of a batch, the person who set the mode, and the time of this setting."""
    table = screening_modes.c
    statement = select(table.mode, table.set_by, table.created_at.label("set_at")).where(table.batch_id == batch_id)
    row = connection.execute(statement.order_by(table.id.desc()).limit(1)).first()
    return ScreeningModeSet() if row is None else ScreeningModeSet.model_validate(row._asdict())


def set_mode(connection: Connection, batch_id: UUID, mode: ScreeningMode, *, set_by: str) -> ScreeningModeSet:
    """Set the screening mode of a batch, in the caller's transaction. An unchanged mode adds no row.

    Raises:
        InvalidParameters: `set_by` is empty.
        InvalidRequest: the operation makes no decisions, and the mode is not `single`.
    """
    name, _ = checked_words(set_by, None)
    one_at_a_time(connection, batch_id)
    if mode is not ScreeningMode.SINGLE:
        check_decides(batch_id, read_operation_name(connection, batch_id), "Blind reading")
    if read_mode(connection, batch_id) is not mode:
        connection.execute(insert(screening_modes).values(batch_id=batch_id, mode=mode.value, set_by=name))
    return read_mode_set(connection, batch_id)


def hidden_from(
    connection: Connection, batch_id: UUID, reviewer: str, places: Collection[int] | None = None
) -> set[int]:
    """Return the indexes of the records whose decisions this reviewer must not see yet.

    In the mode `model_audited`, these are the unjudged records of the current audit. In every other mode, `is_hidden`
    decides for each record. `places`: the indexes to check. None: the whole batch.
    """
    mode = read_mode(connection, batch_id)
    if mode is ScreeningMode.MODEL_AUDITED:
        drawn = set(read_unjudged(connection, batch_id))
        return drawn if places is None else drawn & {*places}
    if not mode.blind:
        return set()
    decided = standing_at(batch_id, items.c.idx)
    statement = (
        select(items.c.idx, needs_no_reading(batch_id).label("kept_out"), decided.c.decisions)
        .select_from(items)
        .outerjoin(decided, true())
        .where(items.c.batch_id == batch_id)
    )
    if places is not None:
        statement = statement.where(items.c.idx == any_(literal([*places], ARRAY(Integer))))
    return {
        row.idx
        for row in connection.execute(statement)
        if is_hidden(mode, [decision["reviewer"] for decision in row.decisions or ()], reviewer, kept_out=row.kept_out)
    }
