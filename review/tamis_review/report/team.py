"""The progress of people who read a batch, and the work left: for all people, and for one person.

No number depends on a decision that is hidden from this person.
"""

from datetime import datetime, timedelta
from uuid import UUID

from pydantic import computed_field
from sqlalchemy import Connection, Select, func, select

from tamis_producer.ledger.audits import find_reading_audit, read_audit
from tamis_producer.ledger.batch_view import BatchView
from tamis_producer.ledger.copies import read_copies
from tamis_producer.ledger.overrides import human_decisions
from tamis_schemas import HumanStage, ScreeningMode, Stratum
from tamis_schemas.ledger import audit_decisions
from tamis_schemas.operations import kind_of
from tamis_schemas.values.frozen import Frozen

from ..decisions.audits import may_be_drawn
from ..decisions.blindness import hidden_from, read_mode
from ..decisions.conflicts import read_differing
from ..decisions.visibility import is_closed
from . import work_filter


class Pace(Frozen):
    """How many records of a batch a person has decided, in all and in the last week, and the last decision's time."""

    reviewer: str
    read: int  # records with a decision of this person, not withdrawn
    last_week: int  # of `read`: decided in the last 7 days
    last_at: datetime


class Team(Frozen):
    """How far people have read a batch, and the work left for them. No number reveals a hidden decision."""

    mode: ScreeningMode = ScreeningMode.SINGLE
    to_read: int = 0  # records for people: those that reached the screening, or the sample of the audit
    read: int = 0  # of `to_read`: decided by as many people as the mode needs, or settled
    todo: int = 0  # records that wait for the person who asks
    conflicts: int = 0  # unsettled conflicts between people
    audit_due: bool = False  # people audit the model, but no audit is drawn
    people: tuple[Pace, ...] | None = None  # None: not asked, or the caller may not see them

    @computed_field  # type: ignore[prop-decorator] # as pydantic has it
    @property
    def open(self) -> bool:
        """Return True while people have work. The batch is then not completed, even if the model is finished."""
        return self.read < self.to_read or self.conflicts > 0 or self.audit_due


def read_team(connection: Connection, view: BatchView, me: str | None, *, people: bool = False) -> Team:
    """Return how far people have read a batch.

    The result is empty if the operation makes no decisions, or if the stage would reveal hidden decisions to `me`.

    `me`: the person who asks; None for a program, which may see everything. For a program, `todo` counts the records
    that wait for any person. `people`: also return how much each person has read.
    """
    batch_id, own, judged = UUID(view.id), human_decisions.c, audit_decisions.c
    closed = view.stage and me is not None and is_closed(connection, batch_id, me)
    if closed or not kind_of(view.operation).decides():
        return Team()
    mode, decisions = read_mode(connection, batch_id), work_filter.read_said(connection, batch_id)
    conflicts = {place for place, row in decisions.items() if row.conflict} | read_differing(connection, batch_id)
    if conflicts and me is not None and mode is not ScreeningMode.SINGLE:
        conflicts -= hidden_from(connection, batch_id, me, conflicts)
    if mode is ScreeningMode.MODEL_AUDITED:
        audit_id = find_reading_audit(connection, batch_id)
        audit = None if audit_id is None else read_audit(connection, audit_id)
        due = audit is None and view.state == "completed" and may_be_drawn(connection, batch_id, Stratum.MODEL)
        to_read, read = (0, 0) if audit is None else (audit.sample, audit.decided)
        todo = to_read - read
        latest = select(func.max(judged.id)).where(judged.audit_id == audit_id).group_by(judged.idx)
        made = select(judged.reviewer, judged.created_at).where(judged.id.in_(latest))
    else:
        kept_out = work_filter.read_kept_out(connection, batch_id) if decisions else ()
        here = [row for place, row in decisions.items() if place not in kept_out]
        due, to_read = False, view.counts.n_items - view.counts.excluded_by_filter
        to_read -= len(read_copies(connection, batch_id))
        read = sum(not row.waits(mode, None) for row in here)
        todo = to_read - sum(not row.waits(mode, me) for row in here)
        current = (own.batch_id == batch_id, own.stage == HumanStage.OWN.value, own.current)
        made = select(own.reviewer, own.created_at).where(*current)
    paces = _paces(connection, made) if people else None
    n = len(conflicts)
    return Team(mode=mode, to_read=to_read, read=read, todo=todo, conflicts=n, audit_due=due, people=paces)


def _paces(connection: Connection, decided: Select[str, datetime]) -> tuple[Pace, ...]:
    """Return how much each person has read, sorted by name.

    `decided`: the query for the reviewer and the time of each decision.
    """
    row = decided.subquery("decided").c
    recent = func.count().filter(row.created_at > func.now() - timedelta(days=7)).label("last_week")
    sums = (func.count().label("read"), recent, func.max(row.created_at).label("last_at"))
    statement = select(row.reviewer, *sums).group_by(row.reviewer).order_by(row.reviewer)
    return tuple(Pace(**person._asdict()) for person in connection.execute(statement))
