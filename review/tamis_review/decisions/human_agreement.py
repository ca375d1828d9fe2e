"""The agreement of the software with humans, on the records that both decided.

The module also reads the records that a cell of a table of agreement counts, and the figures of a panel of models.
"""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from itertools import combinations
from typing import Annotated
from uuid import UUID

from pydantic import BaseModel, Field
from sqlalchemy import ARRAY, Connection, Integer, any_, func, literal, select

from tamis_producer.ledger import read_audits, read_operation
from tamis_producer.ledger.overrides import human_decisions, read_operation_name, standing
from tamis_schemas import Audit, HumanStage, InclusionStatus, InvalidParameters
from tamis_schemas.ledger import items, payloads
from tamis_schemas.operations import check_decides, panel_of, verdict
from tamis_schemas.values.frozen import Frozen

from ..quality.agreement import Agreement, agreement
from ..quality.panel_figures import PanelFigures, panel_figures
from ..quality.panel_record import read_panel_records
from .final_outcome import Outcome, software_outcomes

MOST = 500  # records on a page
INCLUDE, EXCLUDE = InclusionStatus.INCLUDE.value, InclusionStatus.EXCLUDE.value
_SAID = {Outcome.PASSED: INCLUDE, Outcome.EXCLUDED: EXCLUDE, Outcome.INELIGIBLE: EXCLUDE}

SELECTED = (
    "Overridden records are not a random sample: people chose them for a reason, so agreement on them says little "
    "about other records. Decisions of blind readers count as they were before the software's was shown. Other people "
    "saw the software's decision first, which makes agreement look better."
)
DRAWN = (
    "Audited records are a random sample of exclusions only. The software excluded all of them, so kappa cannot "
    "distinguish agreement from chance. Use the observed agreement, AC1 and the audit's bound."
)


class AgreementAmong(StrEnum):
    """The tables of agreement: of software and people, or of two people.

    Each value is the name of a field of `AgreementFigures`.
    """

    OVERRIDES = "overrides"
    AUDITS = "audits"
    TOGETHER = "together"
    PEOPLE = "people"


class PairAgreement(Frozen):
    """The agreement of two people on the records of a stage that both decided."""

    stage: HumanStage
    first: str
    second: str
    agreement: Agreement


class AgreementFigures(Frozen):
    """The agreement of software and humans: on records that people chose, on audited records, and on both together."""

    overrides: Agreement  # on records with a current human decision or confirmation; for blind readers, the first one
    audits: Agreement  # on records drawn for audits of exclusions
    together: Agreement  # each record once; an override has priority over an audit
    undecided: int = 0  # omitted records without a software decision (uncertain, failed, cancelled, a duplicate)
    people: tuple[PairAgreement, ...] = ()  # an entry for every two people, from their independent decisions


def _compared(connection: Connection, batch_id: UUID) -> tuple[dict[int, str], dict[int, str], list[Audit]]:
    """Return the software's decisions and people's decisions, both by record index, and the audits.

    Raises `InvalidRequest` if the operation neither includes nor excludes.
    """
    check_decides(batch_id, read_operation_name(connection, batch_id), "Agreement")
    decided, audits = _decided(connection, batch_id), read_audits(connection, batch_id)
    unseen = {index: says for index, says in _blind(connection, batch_id).items() if index in decided}
    overridden = {index: INCLUDE if says else EXCLUDE for index, says in (decided | unseen).items() if says is not None}
    places = set(overridden) | {item.index for audit in audits for item in audit.items}
    final = software_outcomes(batch_id).subquery("each")
    there = final.c.idx == any_(literal([*places], ARRAY(Integer)))
    rows = connection.execute(select(final.c.idx, final.c.system).where(there, final.c.system.in_(list(_SAID))))
    return {row.idx: _SAID[row.system] for row in rows}, overridden, audits


def read_agreement(connection: Connection, batch_id: UUID) -> AgreementFigures:
    """Return the agreement of software and humans on a batch.

    Raises `InvalidRequest` if the batch's operation neither includes nor excludes.
    """
    of_software = figures(*_compared(connection, batch_id))
    return of_software.model_copy(update={"people": _between_people(read_independent(connection, batch_id))})


def _between_people(by_stage: dict[HumanStage, dict[str, dict[int, str]]]) -> tuple[PairAgreement, ...]:
    """Return the agreement of each pair of people, in each stage with records that both decided.

    `by_stage`: stage -> name -> record index -> decision.
    """
    pairs = []
    for stage in HumanStage:
        categories = stage.values[:2] or (INCLUDE, EXCLUDE)
        for first, second in combinations(sorted(by_stage.get(stage, {})), 2):
            if both := both_said(by_stage[stage][first], by_stage[stage][second]):
                measured = agreement([*both.values()], categories=categories)
                pairs.append(PairAgreement(stage=stage, first=first, second=second, agreement=measured))
    return tuple(pairs)


def _blind(connection: Connection, batch_id: UUID) -> dict[int, bool | None]:
    """Return by record index the verdicts of blind readers, who had not seen the software's decision.

    True: include; False: exclude; None: uncertain. Records on which these readers disagree are omitted.
    """
    view, verdicts = human_decisions.c, dict[int, set[bool | None]]()
    own = (view.batch_id == batch_id, view.stage == HumanStage.OWN.value, view.blind)
    for index, value in connection.execute(select(view.idx, view.value).where(*own)):
        verdicts.setdefault(index, set()).add(verdict(value))
    return {index: says.pop() for index, says in verdicts.items() if len(says) == 1}


def read_independent(connection: Connection, batch_id: UUID) -> dict[HumanStage, dict[str, dict[int, str]]]:
    """Return people's independent decisions: stage -> name -> record index -> decision.

    A decision is independent if its author had not seen others' decisions on the record, and if it settles nothing.
    """
    words: dict[HumanStage, dict[str, dict[int, str]]] = {}
    view = human_decisions.c
    columns = select(view.stage, view.reviewer, view.idx, view.value)
    for stage, reviewer, index, value in connection.execute(columns.where(view.batch_id == batch_id, view.independent)):
        word = {True: INCLUDE, False: EXCLUDE}[value] if isinstance(value, bool) else str(value)
        words.setdefault(HumanStage(stage), {}).setdefault(reviewer, {})[index] = word
    return words


def both_said(first: dict[int, str], second: dict[int, str]) -> dict[int, tuple[str, str]]:
    """Return record index -> (decision in `first`, decision in `second`) for the records in both, in batch order."""
    return {index: (first[index], second[index]) for index in sorted(first.keys() & second.keys())}


def figures(system: dict[int, str], overridden: dict[int, str], audits: Iterable[Audit]) -> AgreementFigures:
    """Return the figures of agreement between the software and people.

    `system`, `overridden`: the decisions of the software and of people, by record index.
    """
    human = _human(overridden, audits)
    agreements = {
        among: agreement([*both_said(system, decided).values()], categories=(INCLUDE, EXCLUDE))
        for among, decided in human.items()
    }
    undecided = sum(index not in system for index in human[AgreementAmong.TOGETHER])
    return AgreementFigures.model_validate({**agreements, "undecided": undecided})


def two_places(value: float) -> str:
    """Return a figure as text with two decimals. Zero is never `-0.00`."""
    return f"{round(value, 2) + 0.0:.2f}"


def _human(overridden: dict[int, str], audits: Iterable[Audit]) -> dict[AgreementAmong, dict[int, str]]:
    """Return for each table of agreement the human decisions to compare with the software's, by record index."""
    audited = {index: INCLUDE if includes else EXCLUDE for index, includes in _audited(audits).items()}
    return {
        AgreementAmong.OVERRIDES: overridden,
        AgreementAmong.AUDITS: audited,
        AgreementAmong.TOGETHER: audited | overridden,
    }


Word = Annotated[str, Field(max_length=100, description="A decision of the table.")]
Name = Annotated[
    str | None,
    Field(default=None, max_length=100, description="For `people`: a reviewer of the table, as in `agreement`."),
]


class CellQuery(BaseModel):  # not `Frozen`: FastAPI reads a query into a complete model
    """A request for a page of the records that one cell of a table of agreement counts."""

    among: AgreementAmong = Field(description="The figure of `agreement` with the table.")
    first_said: Word
    second_said: Word
    stage: HumanStage = Field(default=HumanStage.OWN, description="For `people`.")
    first: Name  # the reviewer whose decisions are the rows
    second: Name  # the reviewer whose decisions are the columns
    after: int | None = Field(default=None, ge=0, lt=2**31, description="`next` of the previous page.")
    limit: int = Field(default=50, ge=1, le=MOST)


class AgreementRecord(Frozen):
    """A record that one cell of a table of agreement counts."""

    index: int  # index in the batch, from 0
    item_id: str
    title: str


class AgreementRecords(Frozen):
    """A page of the records that one cell of a table of agreement counts."""

    n: int  # records on all pages
    items: tuple[AgreementRecord, ...]
    next: int | None  # the `after` of the next page; None: the last page


def read_cell(connection: Connection, batch_id: UUID, query: CellQuery) -> AgreementRecords:
    """Return a page of the records that a cell counts, in batch order.

    Raises:
        InvalidParameters: the cell is about two people, but the query does not name both.
        InvalidRequest: the operation neither includes nor excludes.
    """
    wanted = (query.first_said, query.second_said)
    places = [place for place, verdicts in _judged(connection, batch_id, query).items() if verdicts == wanted]
    left = [place for place in places if query.after is None or place > query.after]
    page = left[: query.limit]
    title = func.coalesce(payloads.c.payload.op("->>")("title"), "").label("title")
    statement = (
        select(items.c.idx.label("index"), items.c.item_id, title)
        .join(payloads, (payloads.c.batch_id == items.c.batch_id) & (payloads.c.idx == items.c.idx))
        .where(items.c.batch_id == batch_id, items.c.idx == any_(literal(page, ARRAY(Integer))))
        .order_by(items.c.idx)
    )
    records = tuple(AgreementRecord.model_validate(row._asdict()) for row in connection.execute(statement))
    return AgreementRecords(n=len(places), items=records, next=page[-1] if len(left) > len(page) else None)


def _judged(connection: Connection, batch_id: UUID, query: CellQuery) -> dict[int, tuple[str, str]]:
    """Return by record index the decisions of a cell's two judges, on the records that both decided."""
    system, overridden, audits = _compared(connection, batch_id)
    if query.among is not AgreementAmong.PEOPLE:
        return both_said(system, _human(overridden, audits)[query.among])
    if query.first is None or query.second is None:
        raise InvalidParameters("first, second: name the two reviewers of the table")
    people = read_independent(connection, batch_id).get(query.stage, {})
    return both_said(people.get(query.first, {}), people.get(query.second, {}))


def read_panel(connection: Connection, batch_id: UUID, human: Mapping[int, bool] | None = None) -> PanelFigures | None:
    """Return the figures of a batch's panel of models, or None if the batch has a single model.

    `human`: people's decisions by record index, True for included. None: read people's current decisions on the batch,
    and their decisions on audited exclusions.
    """
    panel = panel_of(read_operation(connection, batch_id))
    if panel is None:
        return None
    if human is None:
        human = _audited(read_audits(connection, batch_id)) | _decided(connection, batch_id)
    return panel_figures(panel, list(read_panel_records(connection, batch_id)), human)


def _audited(audits: Iterable[Audit]) -> dict[int, bool]:
    return {item.index: item.include for audit in audits for item in audit.items if item.include is not None}


def _decided(connection: Connection, batch_id: UUID) -> dict[int, bool]:
    decisions = standing(batch_id)
    verdicts = {row.idx: verdict(row.value) for row in connection.execute(select(decisions.c.idx, decisions.c.value))}
    return {index: includes for index, includes in verdicts.items() if includes is not None}
