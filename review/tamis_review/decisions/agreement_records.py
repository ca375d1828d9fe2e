"""The records behind a cell of a table of agreement: of software and humans, or of two humans."""

from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

from sqlalchemy import ARRAY, Connection, Integer, any_, literal, select

from tamis_producer.ledger import read_overrides
from tamis_schemas import HumanStage, InvalidParameters
from tamis_schemas.ledger import items, payloads
from tamis_schemas.values.frozen import Frozen

from .fill_in_sheet import text_of
from .human_agreement import both_said, read_compared, said_by_people


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
        AgreementRecord(index=row.idx, item_id=row.item_id, title=text_of(row.title))
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
