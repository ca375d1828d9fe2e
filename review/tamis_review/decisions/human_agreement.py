"""Agreement of the software's decisions with those of humans, on the records that both decided.

Of a table of agreement, the records behind a cell; of a panel of models, its figures beside what people decided.
"""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from itertools import combinations
from typing import Annotated
from uuid import UUID

from pydantic import BaseModel, Field
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

MOST = 500  # records of one page
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


class AgreementAmong(StrEnum):
    """The table that a cell is of: the name of a figure of `AgreementFigures`."""

    OVERRIDES = "overrides"
    AUDITS = "audits"
    TOGETHER = "together"
    PEOPLE = "people"


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


def _compared(connection: Connection, batch_id: UUID) -> tuple[dict[int, str], dict[int, str], list[Audit]]:
    """Return what the software said of records, what people's decisions say of them, and the audits.

    Raises `InvalidRequest` where the operation neither includes nor excludes.
    """
    operation = read_operation_name(connection, batch_id)
    if not kind_of(operation).decides():
        raise InvalidRequest(
            f"batch {batch_id} is of {operation}: only `tamis filter` and `tamis screen` decide about records"
        )
    decided, audits = _decided(connection, batch_id), read_audits(connection, batch_id)
    overridden = {index: INCLUDE if includes else EXCLUDE for index, includes in decided.items()}
    places = set(overridden) | {item.index for audit in audits for item in audit.items}
    each = outcomes(batch_id, operation).subquery("each")
    there = each.c.idx == any_(literal([*places], ARRAY(Integer)))
    rows = connection.execute(select(each.c.idx, each.c.system).where(there, each.c.system.in_(list(_SAID))))
    return {row.idx: _SAID[row.system] for row in rows}, overridden, audits


def read_agreement(connection: Connection, batch_id: UUID) -> AgreementFigures:
    """The figures of a filter or an inclusion. Raises `InvalidRequest` for other operations, which decide nothing."""
    of_software = figures(*_compared(connection, batch_id))
    return of_software.model_copy(update={"people": between_people(read_overrides(connection, batch_id))})


def between_people(decisions: Iterable[Override]) -> tuple[PairAgreement, ...]:
    """The agreement of each two people who decided about the same records of a stage; of standing decisions."""
    said = said_by_people(decisions)
    pairs = []
    for stage in HumanStage:
        known = stage.values[:2] or (INCLUDE, EXCLUDE)
        for first, second in combinations(sorted(said.get(stage, {})), 2):
            if both := both_said(said[stage][first], said[stage][second]):
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
    human = _human(overridden, audits)
    agreements = {
        among: agreement([*both_said(system, said).values()], categories=(INCLUDE, EXCLUDE))
        for among, said in human.items()
    }
    undecided = sum(index not in system for index in human[AgreementAmong.TOGETHER])
    return AgreementFigures.model_validate({**agreements, "undecided": undecided})


def two_places(value: float) -> str:
    """A figure as it is shown; nothing is -0.00."""
    return f"{round(value, 2) + 0.0:.2f}"


def _human(overridden: dict[int, str], audits: Iterable[Audit]) -> dict[AgreementAmong, dict[int, str]]:
    """Return what people said of which record, for each figure that compares them with the software."""
    audited = {
        item.index: INCLUDE if item.include else EXCLUDE
        for audit in audits
        for item in audit.items
        if item.include is not None
    }
    return {
        AgreementAmong.OVERRIDES: overridden,
        AgreementAmong.AUDITS: audited,
        AgreementAmong.TOGETHER: audited | overridden,
    }


Word = Annotated[str, Field(max_length=100, description="As a cell of the table says it.")]
Name = Annotated[
    str | None,
    Field(default=None, max_length=100, description="Of people: whose table it is, as `agreement` has them."),
]


class CellQuery(BaseModel):  # not `Frozen`: FastAPI reads a query into a model that is built at once
    """A cell, and the page of its records that is wanted."""

    among: AgreementAmong = Field(description="The figure of `agreement` whose table it is.")
    first_said: Word
    second_said: Word
    stage: HumanStage = Field(default=HumanStage.OWN, description="Of people.")
    first: Name  # whose the rows are
    second: Name  # whose the columns are
    after: int | None = Field(default=None, ge=0, lt=2**31, description="`next` of the page before.")
    limit: int = Field(default=50, ge=1, le=MOST)


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
    system, overridden, audits = _compared(connection, batch_id)
    if query.among is not AgreementAmong.PEOPLE:
        return both_said(system, _human(overridden, audits)[query.among])
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
