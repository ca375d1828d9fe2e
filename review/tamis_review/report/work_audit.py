"""The audit that people read where the model decides: the work list is its sample, in the order of the draw."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import Connection

from tamis_producer.ledger.audits import find_reading_audit, read_audit
from tamis_schemas import Audit, Operation
from tamis_schemas.values.frozen import Frozen

from ..decisions.audit_verdict import verdict
from .work_record import MyDecision


class WorkAudit(Frozen):
    """The audit whose records a work list holds."""

    id: str
    seed: int
    sample: int  # records drawn
    judged: int
    words: str | None  # how many records were missed at most; None: records are not judged yet


@dataclass(frozen=True)
class AuditReading:
    """The sample as one person reads it. Empty where no audit is drawn."""

    audit: Audit | None
    me: str
    operation: Operation

    @property
    def places(self) -> list[int]:
        """All records of the sample, in the order of the draw."""
        return [] if self.audit is None else [item.index for item in self.audit.items]

    @property
    def todo(self) -> set[int]:
        """Those that nobody has judged."""
        return set() if self.audit is None else {item.index for item in self.audit.items if item.include is None}

    @property
    def mine(self) -> dict[int, MyDecision]:
        """The judgements of `me`, by place, as values of the operation."""
        items = () if self.audit is None else self.audit.items
        return {
            item.index: MyDecision(
                value=self._value(include=item.include), reason=None, note=item.note, at=item.decided_at
            )
            for item in items
            if item.include is not None and item.decided_at is not None and item.reviewer == self.me
        }

    @property
    def facts(self) -> WorkAudit | None:
        """What a view of the work list is told of the audit."""
        if self.audit is None:
            return None
        words = None if self.todo else verdict(self.audit).sentence
        return WorkAudit(
            id=self.audit.id, seed=self.audit.seed, sample=self.audit.sample, judged=self.audit.decided, words=words
        )

    def _value(self, *, include: bool) -> Any:
        return self.operation.includes if include else self.operation.excludes


def read_audit_reading(connection: Connection, batch_id: UUID, me: str, operation: Operation) -> AuditReading:
    """Return the audit that people read, as `me` reads it."""
    audit_id = find_reading_audit(connection, batch_id)
    return AuditReading(None if audit_id is None else read_audit(connection, audit_id), me, operation)
