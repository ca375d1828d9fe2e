"""Agreement of the software's decisions with those of humans, on the records that both decided.

Of a table of agreement, the records behind a cell; of a panel of models, its figures beside what people decided.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations
from uuid import UUID

from sqlalchemy import ARRAY, Connection, Integer, any_, literal, select

from tamis_producer.ledger import read_audits, read_operation, read_overrides
from tamis_producer.ledger.overrides import read_operation_name, standing
from tamis_schemas import Audit, HumanStage, InclusionStatus, InvalidParameters, InvalidRequest, Override
from tamis_schemas.ledger import items, payloads
from tamis_schemas.operations import kind_of, panel_of, verdict
from tamis_schemas.values.frozen import Frozen

from ..quality.agreement import Agreement, agreement
from ..quality.panel_figures import PanelFigures, panel_figures
from ..quality.panel_record import read_panel_records
from .final_outcome import Outcome, outcomes

INCLUDE, EXCLUDE = InclusionStatus.INCLUDE.value, InclusionStatus.EXCLUDE.value
_SAID = {Outcome.PASSED: INCLUDE, Outcome.EXCLUDED: EXCLUDE, Outcome.INELIGIBLE: EXCLUDE}

SELECTED = (
    "Overridden records are no random sample: people looked at them for a reason, so the agreement on them says little "
    "about the others."
)
DRAWN = (
    "Audited records are a random sample, of exclusions alone: the software says the same of all of them, so kappa "
    "cannot tell agreement from chance there; the observed agreement, AC1 and the audit's own bound can be read."
)


class PairAgreement(Frozen):
    """The agreement of two people, on the records of a stage that both decided."""

    stage: HumanStage
    first: str
    second: str
    agreement: Agreement


class AgreementFigures(Frozen):
    """The agreement of software and humans, apart for records that people chose and records that were drawn."""

    overrides: Agreement  # on records with a standing human decision, confirmations among them
    audits: Agreement  # on records of the samples of exclusions
    together: Agreement  # each record once; the override counts where there are both
    undecided: int = 0  # left out: the software had no decision (uncertain, failed, cancelled, a duplicate)
    people: tuple[PairAgreement, ...] = ()  # of each two people; decisions that settle others' are left out


@dataclass(frozen=True)
class Compared:
    """What was said of records by the software, and by humans beside it: `include` or `exclude`, by place."""

    system: dict[int, str]
    overridden: dict[int, str]
    audits: list[Audit]

    @property
    def audited(self) -> dict[int, str]:
        """Return what humans said in audits."""
        return _audited(self.audits)


def read_compared(connection: Connection, batch_id: UUID) -> Compared:
    """What was said of a filter's or an inclusion's records. Raises `InvalidRequest` for other operations."""
    operation = read_operation_name(connection, batch_id)
    if not kind_of(operation).decides():
        raise InvalidRequest(
            f"batch {batch_id} is of {operation}: only `tamis filter` and `tamis screen` decide about records"
        )
    overridden, audits = _overridden(connection, batch_id), read_audits(connection, batch_id)
    places = set(overridden) | {item.index for audit in audits for item in audit.items}
    return Compared(_system(connection, batch_id, operation, places), overridden, audits)


def read_agreement(connection: Connection, batch_id: UUID) -> AgreementFigures:
    """The figures of a filter or an inclusion. Raises `InvalidRequest` for other operations, which decide nothing."""
    said = read_compared(connection, batch_id)
    found = figures(said.system, said.overridden, said.audits)
    return found.model_copy(update={"people": between_people(read_overrides(connection, batch_id))})


def between_people(decisions: Iterable[Override]) -> tuple[PairAgreement, ...]:
    """The agreement of each two people who decided about the same records of a stage; of standing decisions."""
    said = said_by_people(decisions)
    pairs = []
    for stage in HumanStage:
        known = stage.values[:2] or (INCLUDE, EXCLUDE)
        for first, second in combinations(sorted(said.get(stage, {})), 2):
            both = both_said(said[stage][first], said[stage][second])
            if both:
                found = agreement([*both.values()], categories=known)
                pairs.append(PairAgreement(stage=stage, first=first, second=second, agreement=found))
    return tuple(pairs)


def said_by_people(decisions: Iterable[Override]) -> dict[HumanStage, dict[str, dict[int, str]]]:
    """What each person said of which record, by stage, name and place.

    Who settles has seen what the others said: such a decision is no second opinion, and is left out.
    """
    said: dict[HumanStage, dict[str, dict[int, str]]] = {}
    for one in decisions:
        if not one.settles:
            word = {True: INCLUDE, False: EXCLUDE}[one.value] if isinstance(one.value, bool) else str(one.value)
            said.setdefault(one.stage, {}).setdefault(one.reviewer, {})[one.index] = word
    return said


def both_said(first: dict[int, str], second: dict[int, str]) -> dict[int, tuple[str, str]]:
    """What the one and the other said of the records that both judged, in the order of these."""
    return {index: (first[index], second[index]) for index in sorted(first.keys() & second.keys())}


def figures(system: dict[int, str], overridden: dict[int, str], audits: Iterable[Audit]) -> AgreementFigures:
    """The figures from decisions by place: the software's, those of overrides, and the audits."""
    audited = _audited(audits)
    together = audited | overridden
    return AgreementFigures(
        overrides=_agreement(system, overridden),
        audits=_agreement(system, audited),
        together=_agreement(system, together),
        undecided=sum(index not in system for index in together),
    )


def two_places(value: float) -> str:
    """A figure as it is shown; nothing is -0.00."""
    return f"{round(value, 2) + 0.0:.2f}"


def _agreement(system: dict[int, str], human: dict[int, str]) -> Agreement:
    return agreement([*both_said(system, human).values()], categories=(INCLUDE, EXCLUDE))


def _audited(audits: Iterable[Audit]) -> dict[int, str]:
    return {
        item.index: INCLUDE if item.include else EXCLUDE
        for audit in audits
        for item in audit.items
        if item.include is not None
    }


def _system(connection: Connection, batch_id: UUID, operation: str, places: Collection[int]) -> dict[int, str]:
    each = outcomes(batch_id, operation).subquery("each")
    there = each.c.idx == any_(literal([*places], ARRAY(Integer)))
    rows = connection.execute(select(each.c.idx, each.c.system).where(there, each.c.system.in_(list(_SAID))))
    return {row.idx: _SAID[row.system] for row in rows}


def _overridden(connection: Connection, batch_id: UUID) -> dict[int, str]:
    said = _decided(connection, batch_id)
    return {index: INCLUDE if includes else EXCLUDE for index, includes in said.items()}


class AgreementAmong(StrEnum):
    """The table that a cell is of: the name of a figure of `AgreementFigures`."""

    OVERRIDES = "overrides"
    AUDITS = "audits"
    TOGETHER = "together"
    PEOPLE = "people"


@dataclass(frozen=True)
class CellQuery:
    """A cell, and the page of its records that is wanted."""

    among: AgreementAmong
    first_said: str
    second_said: str
    stage: HumanStage = HumanStage.OWN  # of people
    first: str | None = None  # of people: whose the rows are; None: the software's
    second: str | None = None  # of people: whose the columns are
    after: int | None = None  # place of the last record of the page before
    limit: int = 50  # records


class AgreementRecord(Frozen):
    """A record that both judged."""

    index: int  # place in the batch, from 0
    item_id: str
    title: str


class AgreementRecords(Frozen):
    """A page of the records behind a cell."""

    n: int  # on all pages
    records: tuple[AgreementRecord, ...]
    next: int | None  # the `after` of the next page; None: this is the last one


def read_cell(connection: Connection, batch_id: UUID, query: CellQuery) -> AgreementRecords:
    """Return the records of a cell, in the order of the batch.

    Raises:
        InvalidParameters: of people, and not said which two.
        InvalidRequest: the operation decides nothing.
    """
    wanted = (query.first_said, query.second_said)
    places = [place for place, said in _judged(connection, batch_id, query).items() if said == wanted]
    left = [place for place in places if query.after is None or place > query.after]
    page = left[: query.limit]
    statement = (
        select(items.c.idx, items.c.item_id, payloads.c.payload.op("->>")("title").label("title"))
        .join(payloads, (payloads.c.batch_id == items.c.batch_id) & (payloads.c.idx == items.c.idx))
        .where(items.c.batch_id == batch_id, items.c.idx == any_(literal(page, ARRAY(Integer))))
        .order_by(items.c.idx)
    )
    records = tuple(
        AgreementRecord(index=row.idx, item_id=row.item_id, title=row.title or "")
        for row in connection.execute(statement)
    )
    return AgreementRecords(n=len(places), records=records, next=page[-1] if len(left) > len(page) else None)


def _judged(connection: Connection, batch_id: UUID, query: CellQuery) -> dict[int, tuple[str, str]]:
    """Return what both said of each record that both judged."""
    said = read_compared(connection, batch_id)
    match query.among:
        case AgreementAmong.OVERRIDES:
            return both_said(said.system, said.overridden)
        case AgreementAmong.AUDITS:
            return both_said(said.system, said.audited)
        case AgreementAmong.TOGETHER:
            return both_said(said.system, said.audited | said.overridden)
        case AgreementAmong.PEOPLE:
            if query.first is None or query.second is None:
                raise InvalidParameters("first, second: the names of the two people whose table it is")
            people = said_by_people(read_overrides(connection, batch_id, stage=query.stage)).get(query.stage, {})
            return both_said(people.get(query.first, {}), people.get(query.second, {}))


def read_panel(connection: Connection, batch_id: UUID, human: Mapping[int, bool] | None = None) -> PanelFigures | None:
    """The figures of a batch's panel; None: it asks one model.

    `human` says by place which records people include; None: by their decisions about this batch that stand.
    """
    panel = panel_of(read_operation(connection, batch_id))
    if panel is None:
        return None
    records = list(read_panel_records(connection, batch_id))
    return panel_figures(panel, records, _decided(connection, batch_id) if human is None else human)


def _decided(connection: Connection, batch_id: UUID) -> dict[int, bool]:
    decisions = standing(batch_id)
    said = {row.idx: verdict(row.value) for row in connection.execute(select(decisions.c.idx, decisions.c.value))}
    return {index: includes for index, includes in said.items() if includes is not None}
