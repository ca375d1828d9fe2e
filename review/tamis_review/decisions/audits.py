"""Audits of exclusions: the records to sample from, people's decisions on a sample, and the records missed.

The verdict is an upper bound on the missed records among all exclusions.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, Select, insert, select

from tamis_producer.ledger import read_audit
from tamis_producer.ledger.copies import read_copies
from tamis_producer.ledger.overrides import one_at_a_time, read_operation_name, standing
from tamis_schemas import (
    Audit,
    BatchStatus,
    InvalidParameters,
    InvalidRequest,
    Override,
    Stratum,
)
from tamis_schemas.ledger import audit_decisions, batches
from tamis_schemas.operations import check_decides, kind_of
from tamis_schemas.records.record_number import indexed_words
from tamis_schemas.values.frozen import Frozen

from ..quality.exact import LEVEL, most_in_population, upper_bound
from .final_outcome import Outcome, outcomes
from .record_overrides import HumanDecision, RefusedDecision, checked_words
from .record_overrides import record as record_overrides

_DRAWN_FROM = {
    Stratum.ALL: "records excluded by software",
    Stratum.RULES: "records excluded by the rules of the initial filter",
    Stratum.MODEL: "records excluded by the model",
}


class AuditVerdict(Frozen):
    """The figures of an audit. A sampled record without a human decision counts as missed, so the bounds stay valid."""

    stratum: Stratum
    population: int
    sample: int
    decided: int
    missed: int  # records of the sample that a human would have included
    most: int  # upper bound for the population, with probability `level`; includes the missed records found
    most_share: float  # of the population
    binomial_share: float  # bound of Clopper and Pearson on the share, for an infinite population
    level: float

    @property
    def undecided(self) -> int:
        return self.sample - self.decided

    @property
    def sentence(self) -> str:
        """Return a sentence that explains the figures to people."""
        of = f"{self.population:,} {_DRAWN_FROM[self.stratum]}"
        if not self.decided:
            return f"Of {of}, {_were(self.sample)} drawn at random; no human decision is recorded yet."
        judged = f"Of {of}, {_were(self.sample)} drawn at random and {self.decided:,} judged by a human"
        missing = f"{_records(self.missed)} should have been included"
        if self.sample == self.population and not self.undecided:
            return f"All {of} were judged by a human: {missing}."
        waiting = (
            f" The {_records(self.undecided)} not judged yet count as missed: the bound falls with each "
            "correct exclusion."
            if self.undecided
            else ""
        )
        missed_words = "that one" if self.missed == 1 else f"those {self.missed:,}"
        besides = f", including {missed_words}" if self.missed else ""
        return (
            f"{judged}: {missing}. With {self.level:.0%} confidence, at most {self.most:,} of all {self.population:,} "
            f"({self.most_share:.1%}) should have been{besides}.{waiting}"
        )


def verdict(audit: Audit, level: float = LEVEL) -> AuditVerdict:
    """Return the figures of an audit. `level`: the probability with which the bound on missed records holds."""
    missed, undecided = len(audit.missed), audit.sample - audit.decided
    most = most_in_population(missed + undecided, audit.sample, audit.population, level)
    return AuditVerdict(
        stratum=audit.stratum,
        population=audit.population,
        sample=audit.sample,
        decided=audit.decided,
        missed=missed,
        most=most,
        most_share=most / audit.population,
        binomial_share=upper_bound(missed + undecided, audit.sample, level),
        level=level,
    )


def _were(n: int) -> str:
    return "1 was" if n == 1 else f"{n:,} were"


def _records(n: int) -> str:
    return "1 record" if n == 1 else f"{n or 'no'} records" if n < 1_000 else f"{n:,} records"


_OUTCOMES = {
    Stratum.ALL: (Outcome.EXCLUDED, Outcome.INELIGIBLE),
    Stratum.RULES: (Outcome.INELIGIBLE,),
    Stratum.MODEL: (Outcome.EXCLUDED,),
}


@dataclass(frozen=True)
class AuditDecision:
    """A human's decision on a record of a sample."""

    index: int
    include: bool
    reviewer: str
    note: str | None = None


@dataclass(frozen=True)
class Recorded:
    """An audit with newly recorded decisions."""

    audit: Audit
    new: int  # decisions not recorded before
    overrides: tuple[Override, ...] = ()  # overrides that include the missed records


def include_missed_records(connection: Connection, audit: Audit) -> tuple[Override, ...]:
    """Record an override that includes each missed record of an audit, and return the overrides.

    An override has the reviewer and the note of the audit's decision. Missed records with another human decision, and
    records that people called copies, get no override.
    """
    batch_id = UUID(audit.batch_id)
    one_at_a_time(connection, batch_id)
    value = kind_of(read_operation_name(connection, batch_id)).includes
    there = {*connection.execute(select(standing(batch_id).c.idx)).scalars(), *read_copies(connection, batch_id)}
    decisions = [
        HumanDecision(item.index, value, item.reviewer or "", item.note or f"found by audit {audit.id}")
        for item in audit.missed
        if item.index not in there
    ]
    return record_overrides(connection, batch_id, decisions).overrides


def read_population(connection: Connection, batch_id: UUID, stratum: Stratum) -> list[int]:
    """Return the indexes of the records that an audit of this stratum may draw.

    Raises `InvalidRequest` if the operation excludes nothing, the batch is not completed, or no record can be drawn.
    """
    batch = connection.execute(select(batches.c.operation, batches.c.state).where(batches.c.id == batch_id)).one()
    check_decides(batch_id, batch.operation, "An audit")
    if batch.state != BatchStatus.COMPLETED:
        raise InvalidRequest(
            f"batch {batch_id} is {batch.state}: an audit covers all exclusions, so wait until it is completed. "
            f"`tamis status {batch_id} --watch` follows it"
        )
    places = sorted(connection.execute(_excluded(batch_id, stratum)).scalars())
    if not places:
        by = {Stratum.RULES: " by a rule", Stratum.MODEL: " by the model"}.get(stratum, "")
        raise InvalidRequest(
            f"batch {batch_id} has no exclusion{by} without a human decision; "
            f"`tamis results {batch_id}` shows every decision"
        )
    return places


def may_be_drawn(connection: Connection, batch_id: UUID, stratum: Stratum) -> bool:
    """Return whether an audit of a completed batch has records to draw."""
    return connection.execute(_excluded(batch_id, stratum).limit(1)).first() is not None


def _excluded(batch_id: UUID, stratum: Stratum) -> Select[Any]:
    """Return the query for the indexes of a stratum's excluded records that have no human decision."""
    final = outcomes(batch_id).subquery("each")
    return select(final.c.idx).where(final.c.outcome.in_(_OUTCOMES[stratum]), final.c.human.is_(None))


def write_decisions(
    connection: Connection, audit_id: UUID, decisions: Sequence[AuditDecision], *, correct: bool
) -> int:
    """Write an audit's decisions, and return how many are new or changed.

    `correct`: whether a decision may contradict an earlier decision. Raises `RefusedDecision` if a decision is invalid.
    """
    one_at_a_time(connection, audit_id)
    before = {item.index: item for item in read_audit(connection, audit_id).items}
    rows: list[dict[str, object]] = []
    seen: set[int] = set()
    for number, decision in enumerate(decisions):
        item = before.get(decision.index)
        if item is None:
            raise RefusedDecision(number, f"{indexed_words(decision.index)} is not in the sample of audit {audit_id}")
        if decision.index in seen:
            raise RefusedDecision(number, f"two decisions on {indexed_words(decision.index)}: keep one of them")
        seen.add(decision.index)
        try:
            reviewer, note = checked_words(decision.reviewer, decision.note)
        except InvalidParameters as refused:
            raise RefusedDecision(number, str(refused)) from refused
        if item.include is not None and item.include is not decision.include and not correct:
            was = "include" if item.include else "exclude"
            raise RefusedDecision(
                number,
                f"{indexed_words(decision.index)}: {item.reviewer} said {was} before. A changed decision changes the "
                "audit: confirm it with --correct (both stay in the ledger)",
            )
        if (item.include, item.reviewer, item.note) != (decision.include, reviewer, note):
            row = {"audit_id": audit_id, "idx": decision.index, "include": decision.include}
            rows.append({**row, "reviewer": reviewer, "note": note})
    if rows:
        connection.execute(insert(audit_decisions), rows)
    return len(rows)
