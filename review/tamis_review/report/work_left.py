"""How many records of a batch wait for a person, without reading any."""

from uuid import UUID

from sqlalchemy import ARRAY, Connection, Integer, any_, func, literal, select

from tamis_producer.ledger.audits import find_reading_audit, read_unjudged
from tamis_producer.ledger.batch_view import BatchView
from tamis_schemas import BatchStatus, ItemStatus, ScreeningMode, Stratum
from tamis_schemas.ledger import items
from tamis_schemas.operations import kind_of
from tamis_schemas.values.frozen import Frozen

from ..decisions.audits import may_be_drawn
from ..decisions.conflicts import read_differing
from ..decisions.screening_mode import hidden_from, read_mode
from .work_filter import read_said


class WorkLeft(Frozen):
    """What of a batch is left for a person."""

    todo: int = 0  # records that wait for them
    conflicts: int = 0  # records on which people differ, and nobody has settled it
    audit_due: bool = False  # people audit the model, and no audit is drawn


def read_left(connection: Connection, view: BatchView, me: str) -> WorkLeft:
    """Return what is left for `me`; nothing of a batch whose operation decides about no record."""
    if not kind_of(view.operation).decides():
        return WorkLeft()
    batch_id = UUID(view.id)
    mode, said = read_mode(connection, batch_id), read_said(connection, batch_id)
    conflicts = {place for place, one in said.items() if one.conflict} | read_differing(connection, batch_id)
    if conflicts and mode is not ScreeningMode.SINGLE:
        conflicts -= hidden_from(connection, batch_id, me, conflicts)
    if mode is ScreeningMode.MODEL_AUDITED:
        due = find_reading_audit(connection, batch_id) is None and _has_exclusions(connection, view)
        return WorkLeft(todo=len(read_unjudged(connection, batch_id)), conflicts=len(conflicts), audit_due=due)
    done = [place for place, one in said.items() if not one.waits(mode, me)]
    to_read = view.counts.n_items - view.counts.excluded_by_filter
    return WorkLeft(todo=to_read - _to_read(connection, batch_id, done), conflicts=len(conflicts))


def _has_exclusions(connection: Connection, view: BatchView) -> bool:
    """Return whether an audit of what the model excluded can be drawn."""
    completed = view.state == BatchStatus.COMPLETED
    return completed and may_be_drawn(connection, UUID(view.id), view.operation, Stratum.MODEL)


def _to_read(connection: Connection, batch_id: UUID, places: list[int]) -> int:
    """Return at how many of these places no record was kept out before screening."""
    if not places:
        return 0
    here = (items.c.batch_id == batch_id) & (items.c.idx == any_(literal(places, ARRAY(Integer))))
    kept_out = items.c.state == ItemStatus.EXCLUDED_BY_FILTER.value
    return int(connection.execute(select(func.count()).select_from(items).where(here, ~kept_out)).scalar_one())
