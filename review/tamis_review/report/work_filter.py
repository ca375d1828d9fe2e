"""The queries of a batch's work list, and the SQL that finds the matching records.

The functions identify a record by its number in the batch, from 0. They never return the texts of records.
"""

import json
import re
import unicodedata
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain, islice
from uuid import UUID

from pydantic import BaseModel, Field
from sqlalchemy import (
    ARRAY,
    BigInteger,
    ColumnElement,
    Connection,
    Integer,
    Select,
    Text,
    and_,
    any_,
    case,
    cast,
    false,
    func,
    literal,
    literal_column,
    or_,
    select,
)
from sqlalchemy.dialects.postgresql import JSONB

from tamis_producer.ledger.copies import copies_of, needs_no_reading
from tamis_producer.ledger.exclusion_reasons import exclusion_reason
from tamis_producer.ledger.overrides import standing
from tamis_producer.ledger.remarks import read_labelled
from tamis_schemas import Inclusion, InclusionStatus, InvalidParameters, ItemStatus, Operation, ScreeningMode
from tamis_schemas.ledger import exclusions, items, payloads, results
from tamis_schemas.ledger.verdicts import is_value
from tamis_schemas.operations.criteria import reason_of

from ..decisions.final_outcome import NO_REASON, Outcome, outcomes, software_outcomes

USUAL, MOST = 50, 200  # records of a page
LONGEST_SEARCH = 200  # characters
_READERS = {ScreeningMode.SINGLE: 1, ScreeningMode.PAIR: 2, ScreeningMode.MODEL_SECOND: 1}
_CURSOR = "after-"


class WorkOrder(StrEnum):
    """The sort orders of the work list."""

    NUMBER = "number"  # the record's number in the batch
    NEXT = "next"  # the stored reading order
    DISAGREEMENT = "disagreement"  # conflicts between people first, then conflicts between a panel's models


class WorkShow(StrEnum):
    """The sets of records that a work list can show."""

    TODO = "todo"  # records that wait for the caller
    MINE = "mine"  # records that the caller has decided
    ALL = "all"
    CONFLICTS = "conflicts"  # unsettled conflicts between people


class WorkQuery(BaseModel):  # not `Frozen`: FastAPI reads a query into a complete model
    """The filters, the order and the wanted page of a work list. A record must pass every filter."""

    order: WorkOrder = Field(
        default=WorkOrder.NUMBER,
        description="number: by number; next: reading order; disagreement: of people first, then of models.",
    )
    show: WorkShow = Field(default=WorkShow.TODO, description="todo: records that wait for the key's holder.")
    outcome: Outcome | None = Field(default=None, description="Only records with this outcome.")
    reason: str | None = Field(
        default=None, max_length=2_000, description="Excluded for this reason: its words, or its criterion's label."
    )
    label: str | None = Field(default=None, max_length=200, description="Only records with this label.")
    flagged: bool = Field(default=False, description="Only records with a quote that is altered or not found.")
    q: str | None = Field(
        default=None, max_length=LONGEST_SEARCH, description="Words that must all occur in the record."
    )
    after: str | None = Field(default=None, max_length=100, description="`next` of the previous page.")
    limit: int = Field(default=USUAL, ge=1, le=MOST)

    @property
    def words(self) -> list[str]:
        """Return the search words."""
        return [] if self.q is None else self.q.split()


@dataclass(frozen=True)
class Said:
    """People's decisions about a record, as far as a work list needs them."""

    reviewers: tuple[str, ...]  # people with a current decision
    conflict: bool
    settled: bool  # a settling decision overrides the others
    first: int  # id of the oldest decision; smaller ids are earlier
    reason: str | None = None  # the person's reason in the decision that counts

    def waits(self, mode: ScreeningMode, me: str | None) -> bool:
        """Return whether the record still needs a decision by the person `me`, or by any person if `me` is None.

        `mode`: the screening mode, which says how many people must decide on a record.
        """
        return me not in self.reviewers and not self.settled and len(self.reviewers) < _READERS[mode]


def cursor(index: int) -> str:
    """Return the cursor (a text) of the page that begins after the record with this number."""
    return urlsafe_b64encode(f"{_CURSOR}{index}".encode()).decode().rstrip("=")


def place_of(text: str) -> int:
    """Return the record number in a cursor. Raise `InvalidParameters` if the text is not a cursor."""
    with suppress(ValueError):
        decoded = urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode()
        if decoded.startswith(_CURSOR) and (digits := decoded.removeprefix(_CURSOR)).isascii() and digits.isdigit():
            return int(digits)
    raise InvalidParameters(f"after: {text!r} is not a cursor: pass `next` of the previous page")


def ranked(first: Iterable[int], count: int) -> list[int]:
    """Return all record numbers of a batch of `count` items: first the numbers in `first`, then the others.

    Repeated numbers, and numbers that the batch does not have, are omitted.
    """
    return list(dict.fromkeys(chain((place for place in first if place < count), range(count))))


def page(order: Sequence[int], found: Collection[int], after: int | None, limit: int) -> tuple[list[int], int | None]:
    """Return a page of record numbers, and the page's last number if another page follows, else None.

    The page has at most `limit` numbers of `found`, sorted as in `order`. `after`: the last number of the previous
    page; None for the first page.
    """
    begin = 0 if after is None else next((n for n, place in enumerate(order, 1) if place == after), len(order))
    listed = list(islice((place for place in islice(order, begin, None) if place in found), limit + 1))
    return listed[:limit], listed[limit - 1] if len(listed) > limit else None


def reading_first(
    sample: Sequence[int], said: dict[int, Said], order: Sequence[int], ruled: Collection[int], *, pairs: bool
) -> Iterable[int]:
    """Return record numbers in reading order, including decided records. A number may occur twice.

    The records of the open stop sample (`sample`) come first. If people read in `pairs`, the records that they have
    decided come next, by the time of the first decision. The records in `order` follow. Of these, the records that a
    rule excluded (`ruled`) come last. `said`: record number -> people's decisions.
    """
    read = sorted(said, key=lambda place: said[place].first) if pairs else ()
    return chain(sample, read, (place for place in order if place not in ruled), (p for p in order if p in ruled))


_LETTERS = "àáâãäåāăąçćčďèéêëēėęěğìíîïīįıłñńňòóôõöøōőřśšşťùúûüūůűųýÿźžż"
_PLAIN = {"ı": "i", "ł": "l", "ø": "o"}  # letters that Unicode does not decompose
_LIKE, _SPECIAL = re.compile(r"([\\%_])"), re.compile(r"([^\w\s])")  # special in LIKE and in regular expressions
_PLAIN_RUN = re.compile(r"[A-Za-z0-9]+")
_REWORDED = reason_of("", excludes=False)  # prefix that some releases put before a criterion
SHORTEST = 4  # minimum letters of a highlighted word
WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
COMMON = frozenset(
    WORD.findall(
        "about above after also among and any are been before being below between both but did does during each "
        "either else evidence excluded excludes from had has have having here how include included includes into "
        "its least less more most must neither not only other over per record records reported reporting reports "
        "same should some study studies such than that their them then there these they this those through under "
        "until upon very was were what when where whether which while who whom whose will with within without "
        "would year years"
    )
)


def _bare(letter: str) -> str:
    return _PLAIN.get(letter) or unicodedata.normalize("NFKD", letter)[0]


_FAMILY: dict[str, str] = {}
for _one in _LETTERS:
    _FAMILY[_bare(_one)] = _FAMILY.get(_bare(_one), _bare(_one)) + _one + _one.upper()[0]


def like_pattern(word: str) -> str:
    """Return an SQL LIKE pattern for a text that contains the word. The text must be in lower case, without accents."""
    return "%" + "".join(_written(letter, _LIKE) for letter in _small(word)) + "%"


def exact_pattern(word: str) -> str:
    """Return a Postgres regular expression that finds the word in the values of a JSON text, not in its field names.

    A field name is recognised by the `":` after it. Case and accents are ignored.
    """
    return "".join(map(_exact, _small(word))) + r'(?![^"\\]*":)'


def probe_of(reason: str) -> str:
    """Return the longest run of ASCII letters and digits in a reason, or "" if there is none.

    Every JSON text with the reason contains this run. A prefix that only some releases put before the reason does not
    count.
    """
    bare = reason.removeprefix(_REWORDED).removeprefix(_REWORDED.replace(" ", "_"))
    return max(_PLAIN_RUN.findall(bare), key=len, default="")


def _small(word: str) -> str:
    return "".join(_bare(letter) for letter in unicodedata.normalize("NFC", word.lower()))


def _exact(letter: str) -> str:
    if letter in _FAMILY or (letter.isalpha() and not letter.isascii()):
        return f"[{_FAMILY.get(letter) or letter + letter.upper()[0]}]"
    return _written(letter, _SPECIAL)


def _written(letter: str, special: re.Pattern[str]) -> str:
    """Return a letter as JSON writes it, with the pattern's special characters escaped."""
    return special.sub(r"\\\1", json.dumps(letter, ensure_ascii=False)[1:-1])


def marked_words(texts: Iterable[str]) -> list[str]:
    """Return the words of `texts` (criteria) that are worth highlighting in a record, in lower case and in order.

    Short and common words are omitted.
    """
    words = (word for text in texts for word in WORD.findall(text.lower()))
    return list(dict.fromkeys(word for word in words if len(word) >= SHORTEST and word not in COMMON))


BEGINS = f'{{"status": "{InclusionStatus.EXCLUDE.value}"%'


def excluded_for(batch_id: UUID, operation: Operation, reasons: Collection[str]) -> list[Select[tuple[int]]]:
    """Return queries for the numbers of the records that the software excluded for these reasons.

    A record counts if any of the queries selects it.
    """
    # Decided items of an inclusion have a separate query: joining them with all items would load whole answers into the
    # database's memory.
    software = software_outcomes(batch_id).subquery("software")
    matches = select(software.c.idx).where(software.c.reason.in_(reasons))
    probes = {probe_of(reason) for reason in reasons}
    if not isinstance(operation, Inclusion) or "" in probes or NO_REASON in reasons:
        return [matches]
    return [_decided(batch_id, operation, reasons, probes), matches.where(software.c.state != ItemStatus.DECIDED.value)]


def _decided(
    batch_id: UUID, operation: Inclusion, reasons: Collection[str], probes: Collection[str]
) -> Select[tuple[int]]:
    """Return the query for the numbers of the records that the model excluded for one of these reasons.

    `probes`: a part of the text of each reason. An answer that contains none of these parts is not parsed.
    """
    # The query tests an answer's text before its JSON, which is slower.
    within, excluded = cast(results.c.detail, Text), is_value(results.c.value, operation.excludes)
    begins = within.like(BEGINS)  # as workers write it; any other form is parsed
    status = case((begins, True), else_=results.c.detail.op("->>")("status") == operation.excludes)
    written = [f'"exclusion_reason": {json.dumps(reason)}' for reason in reasons]  # no unescaped string has this
    matches = case(
        (and_(*(func.strpos(within, probe) == 0 for probe in probes)), False),
        (~excluded, False),
        (or_(false(), *(func.strpos(within, part) > 0 for part in written)), status),
        else_=func.coalesce(exclusion_reason().in_(reasons), False),
    )
    decided = (items.c.batch_id == batch_id) & (items.c.idx == results.c.idx)
    return (
        select(results.c.idx)
        .join(items, decided & (items.c.state == ItemStatus.DECIDED.value))
        .where(results.c.batch_id == batch_id, results.c.idx.not_in(copies_of(batch_id)), matches)
    )


def read_said(connection: Connection, batch_id: UUID) -> dict[int, Said]:
    """Return people's decisions on the records of a batch: record number -> the decisions on this record.

    Records without a decision are omitted, and so are decisions on retrieval and full texts.
    """
    human = standing(batch_id).c
    alone, several = human.reviewers == 1, cast(human.decisions, JSONB)
    names = case(
        (alone, cast(func.json_build_array(human.reviewer), Text)),
        else_=cast(func.jsonb_path_query_array(several, literal_column("'$[*].reviewer'")), Text),
    )
    first = case((alone, human.id), else_=cast(several.op("->")(0).op("->>")("id"), BigInteger))
    decision = (human.conflict, human.settles, human.reason)
    item = select(human.idx, names.label("names"), *decision, first.label("first")).subquery("each")
    alike = (item.c.names, item.c.conflict, item.c.settles, item.c.reason)
    rows = connection.execute(select(*alike, func.array_agg(item.c.idx), func.array_agg(item.c.first)).group_by(*alike))
    return {
        place: Said(reviewers, conflict=conflict, settled=settled, first=made, reason=reason)
        for names, conflict, settled, reason, places, numbers in rows
        for reviewers in (tuple(json.loads(names)),)
        for place, made in zip(places, numbers, strict=True)
    }


def read_kept_out(connection: Connection, batch_id: UUID) -> set[int]:
    """Return the numbers of the records that need no reading.

    These are the records that were excluded before screening, and the records that people judged to be copies.
    """
    return _places(connection, select(items.c.idx).where(items.c.batch_id == batch_id, needs_no_reading(batch_id)))


def read_ruled(connection: Connection, batch_id: UUID) -> set[int]:
    """Return the numbers of the records that a rule excluded before screening, such as duplicates."""
    return _places(connection, select(exclusions.c.idx).where(exclusions.c.batch_id == batch_id))


def read_matching(
    connection: Connection,
    batch_id: UUID,
    operation: Operation,
    query: WorkQuery,
    reasons: Collection[str],
    said: Mapping[int, Said],
) -> set[int] | None:
    """Return the numbers of the records that pass the query's filters on outcome, reason, label and flag.

    Return None if none of these filters is set. `reasons`: the texts under which the ledger may store the requested
    reason. `said`: record number -> people's decisions.
    """
    parts: list[set[int]] = []
    final = outcomes(batch_id).subquery("final")

    def ended(places: Collection[int], outcome: object) -> set[int]:
        """Return the numbers, among `places`, of the records with this final outcome."""
        here = (final.c.idx == any_(literal([*places], ARRAY(Integer))), final.c.outcome == outcome)
        return _places(connection, select(final.c.idx).where(*here)) if places else set()

    if query.outcome is not None:
        software = software_outcomes(batch_id).subquery("software")
        matching = _places(connection, select(software.c.idx).where(software.c.system == query.outcome.value))
        parts.append(matching - said.keys() | ended(said.keys(), query.outcome.value))
    if query.reason:
        matching = set().union(*(_places(connection, part) for part in excluded_for(batch_id, operation, reasons)))
        decided = {place for place, decision in said.items() if decision.reason in reasons}
        theirs = ended(matching & said.keys(), final.c.system) | ended(decided, Outcome.EXCLUDED.value)
        parts.append(matching - said.keys() | theirs)
    if query.label:
        parts.append(set(read_labelled(connection, batch_id, " ".join(query.label.split()))))
    if query.flagged:
        mentions = cast(results.c.detail, Text).like('%"flagged"%true%')  # tested first: cheaper than parsing
        flagged = case((mentions, results.c.detail.op("->>")("flagged") == "true"), else_=False)
        parts.append(_places(connection, select(results.c.idx).where(results.c.batch_id == batch_id, flagged)))
    return set.intersection(*parts) if parts else None


def search(connection: Connection, batch_id: UUID, words: Iterable[str], places: Sequence[int]) -> set[int]:
    """Return those of the record numbers `places` whose record contains all words."""
    of: ColumnElement[bool]
    if isinstance(places, range):
        of = (payloads.c.idx >= places.start) & (payloads.c.idx < places.stop)
    else:
        of = payloads.c.idx == any_(literal([*places], ARRAY(Integer)))
    return _places(connection, select(payloads.c.idx).where(payloads.c.batch_id == batch_id, of, _holds(words)))


def _holds(words: Iterable[str]) -> ColumnElement[bool]:
    """Return the SQL condition that a record contains all words.

    The condition tests longer words first, because fewer records contain them.
    """
    # A CASE tests the words in this order. Postgres's own order is slower.
    text, rarest_first = cast(payloads.c.payload, Text), sorted({*words}, key=len, reverse=True)
    small = func.lower(text.collate("C"))
    plain = func.octet_length(text) == func.char_length(text)  # no accents: the fast comparison is enough
    exactly = and_(*(text.regexp_match(exact_pattern(word), flags="i") for word in rarest_first))
    return case(
        (and_(*(small.like(like_pattern(word)) for word in rarest_first)), exactly), (plain, False), else_=exactly
    )


def _places(connection: Connection, statement: Select[tuple[int]]) -> set[int]:
    return set(connection.execute(select(func.array_agg(statement.subquery("one").c[0]))).scalar_one() or ())
