"""What the workers have learned of how each model wants to be asked; they write it into the ledger."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Engine, select

from tamis_producer.ledger import ledger_errors
from tamis_schemas.ledger import dialects

from .finding import Finding, ok, warning

NEWEST = 5  # endpoints and models


@dataclass(frozen=True)
class Learned:
    """The way in which workers ask one model of one endpoint."""

    endpoint: str
    model: str
    rung: str
    proven: bool
    unusable: int  # answers in a row on the lowest rung
    since: datetime


def read_learned(engine: Engine) -> tuple[Learned, ...]:
    """Return what was learned last. Raises `LedgerUnavailable` where the ledger does not answer."""
    columns = dialects.c
    latest = select(
        columns.endpoint, columns.model, columns.rung, columns.proven, columns.unusable, columns.changed_at
    ).order_by(columns.changed_at.desc())
    with ledger_errors(), engine.connect() as connection:
        return tuple(Learned(*row) for row in connection.execute(latest.limit(NEWEST)))


def judge_learned(learned: Sequence[Learned]) -> list[Finding]:
    """A finding for each."""
    return [_judged(row) for row in learned]


def _judged(row: Learned) -> Finding:
    what = f"workers ask {row.model} at {row.endpoint} on rung {row.rung} since {row.since:%Y-%m-%d %H:%M} UTC"
    if row.unusable:
        plural = "" if row.unusable == 1 else "s"
        what = f"{what}; the last {row.unusable} answer{plural} could not be used"
        return warning("learned", what, "name another model: on the lowest rung nothing more can be done about it")
    return ok("learned", what if row.proven else f"{what}, which no answer has proven yet")
