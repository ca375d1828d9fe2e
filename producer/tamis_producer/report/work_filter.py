"""The records of a batch that a work list is asked for, by SQL: places alone, of no record its text."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from uuid import UUID

from sqlalchemy import (
    ARRAY,
    ColumnElement,
    Connection,
    Integer,
    Select,
    Text,
    any_,
    case,
    cast,
    func,
    literal,
    select,
)

from tamis_schemas import ItemStatus, Operation
from tamis_schemas.ledger import exclusions, items, payloads, results

from ..decisions.final_outcome import Outcome, outcomes
from ..ledger.overrides import standing
from ..ledger.remarks import read_labelled
from .work_query import Said, WorkQuery
from .work_text import exact_pattern, like_pattern


def read_said(connection: Connection, batch_id: UUID) -> dict[int, Said]:
    """Return what people decided about each record, in what the batch asks itself."""
    human = standing(batch_id).c
    rows = connection.execute(select(human.idx, human.conflict, human.settles, human.reason, human.decisions))
    return {
        row.idx: Said(
            reviewers=tuple(one["reviewer"] for one in row.decisions),
            conflict=row.conflict,
            settled=row.settles,
            first=row.decisions[0]["id"],
            reason=row.reason,
        )
        for row in rows
    }


def read_to_read(connection: Connection, batch_id: UUID) -> set[int]:
    """Return the places of the records that people read: all but the copies, and what was kept out before screening."""
    kept_out = items.c.state == ItemStatus.EXCLUDED_BY_FILTER.value
    return _places(connection, select(items.c.idx).where(items.c.batch_id == batch_id, ~kept_out))


def read_ruled(connection: Connection, batch_id: UUID) -> set[int]:
    """Return the places of the records that were kept out before screening."""
    return _places(connection, select(exclusions.c.idx).where(exclusions.c.batch_id == batch_id))


def read_matching(
    connection: Connection,
    batch_id: UUID,
    operation: Operation,
    query: WorkQuery,
    reasons: Collection[str],
    said: Mapping[int, Said],
) -> set[int] | None:
    """Return the places that outcome, reason, label and flag leave; None where none of them is asked for.

    `reasons`: the words of the reason, where one is asked for.
    """
    parts: list[set[int]] = []
    each = outcomes(batch_id, operation.operation).subquery("each")
    if query.outcome is not None:
        parts.append(_places(connection, select(each.c.idx).where(each.c.outcome == query.outcome.value)))
    if query.reason is not None:
        by_software = (each.c.outcome == each.c.system) & each.c.reason.in_(reasons)
        found = _places(connection, select(each.c.idx).where(by_software))
        if by_people := {place for place, one in said.items() if one.reason in reasons}:
            excluded = select(each.c.idx).where(each.c.outcome == Outcome.EXCLUDED.value)
            found |= by_people & _places(connection, excluded)
        parts.append(found)
    if query.label is not None:
        parts.append(set(read_labelled(connection, batch_id, " ".join(query.label.split()))))
    if query.flagged:
        parts.append(_places(connection, _flagged(batch_id)))
    return set.intersection(*parts) if parts else None


def _flagged(batch_id: UUID) -> Select[tuple[int]]:
    """Return the records with a quote that is altered or not found; the text is looked at first, which is cheaper."""
    told = cast(results.c.detail, Text).like('%"flagged"%true%')
    flagged = case((told, results.c.detail.op("->>")("flagged") == "true"), else_=False)
    return select(results.c.idx).where(results.c.batch_id == batch_id, flagged)


def search(connection: Connection, batch_id: UUID, words: Iterable[str], places: Sequence[int]) -> set[int]:
    """Return those of the places at which the record holds all of the words."""
    of: ColumnElement[bool]
    if isinstance(places, range):
        of = (payloads.c.idx >= places.start) & (payloads.c.idx < places.stop)
    else:
        of = payloads.c.idx == any_(literal([*places], ARRAY(Integer)))
    return _places(connection, select(payloads.c.idx).where(payloads.c.batch_id == batch_id, of, *_holds(words)))


def _holds(words: Iterable[str]) -> Sequence[ColumnElement[bool]]:
    """Return the conditions; cases, as the database would try first what it takes for cheaper, which is not."""
    text = cast(payloads.c.payload, Text)
    plain = func.octet_length(text) == func.char_length(text)  # without accents: the fast comparison is enough
    return [
        case(
            (func.lower(text.collate("C")).like(like_pattern(word)), text.regexp_match(exact_pattern(word), flags="i")),
            (plain, False),
            else_=text.regexp_match(exact_pattern(word), flags="i"),
        )
        for word in words
    ]


def _places(connection: Connection, statement: Select[tuple[int]]) -> set[int]:
    one = statement.subquery("one")
    return set(connection.execute(select(func.array_agg(one.c[0]))).scalar_one() or ())
