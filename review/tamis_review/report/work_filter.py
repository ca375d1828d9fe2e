"""What a person asks of the work list of a batch, and the records that it is asked for, by SQL.

They are places alone, of no record its text. Words that are searched for are patterns of the database. What is cheap to
try comes before any JSON is read.
"""

import json
import re
import unicodedata
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain, islice
from uuid import UUID

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

from tamis_producer.ledger.exclusion_reasons import exclusion_reason
from tamis_producer.ledger.overrides import standing
from tamis_producer.ledger.remarks import read_labelled
from tamis_schemas import Inclusion, InclusionStatus, InvalidParameters, ItemStatus, Operation, ScreeningMode
from tamis_schemas.ledger import exclusions, items, payloads, results
from tamis_schemas.ledger.verdicts import is_value
from tamis_schemas.operations.criteria import reason_of

from ..decisions.final_outcome import NO_REASON, Outcome, by_human, software_outcomes

USUAL, MOST = 50, 200  # records of a page
LONGEST_SEARCH = 200  # characters
_READERS = {ScreeningMode.SINGLE: 1, ScreeningMode.PAIR: 2, ScreeningMode.MODEL_SECOND: 1}
_CURSOR = "after-"


class WorkOrder(StrEnum):
    """The order of the records."""

    NUMBER = "number"  # of the batch
    NEXT = "next"  # the reading order that is kept
    DISAGREEMENT = "disagreement"  # first the records on which people differ, then those on which a panel's models do


class WorkShow(StrEnum):
    """Which records are shown."""

    TODO = "todo"  # that wait for whoever asks
    MINE = "mine"  # that whoever asks has decided
    ALL = "all"
    CONFLICTS = "conflicts"  # on which people differ, and nobody has settled it


@dataclass(frozen=True)
class WorkQuery:
    """What is asked for; every filter that is given must hold."""

    order: WorkOrder = WorkOrder.NUMBER
    show: WorkShow = WorkShow.TODO
    outcome: Outcome | None = None
    reason: str | None = None  # of an exclusion: in its words, or the label of its criterion
    label: str | None = None  # that people put on it
    flagged: bool = False  # those alone of which a quote is altered, or not in the record
    q: str | None = None  # words that must all occur in the record
    after: str | None = None  # the cursor of the page before
    limit: int = USUAL

    @property
    def words(self) -> list[str]:
        """Return the words that are searched for."""
        return [] if self.q is None else self.q.split()


@dataclass(frozen=True)
class Said:
    """What people decided about a record, as far as a work list needs it."""

    reviewers: tuple[str, ...]  # whose decision stands
    conflict: bool
    settled: bool  # somebody's decision counts before the others'
    first: int  # the number of the oldest of the decisions: the smaller, the earlier
    reason: str | None = None  # of the decision that counts, as the person gave it
    value: object = None  # of the decision that counts

    def waits(self, mode: ScreeningMode, me: str) -> bool:
        """Return whether the record still waits for `me`."""
        return me not in self.reviewers and not self.settled and len(self.reviewers) < _READERS[mode]


def cursor(index: int) -> str:
    """Return the cursor of the page behind the record at this place."""
    return urlsafe_b64encode(f"{_CURSOR}{index}".encode()).decode().rstrip("=")


def place_of(text: str) -> int:
    """Return the place that a cursor stands for. Raises `InvalidParameters` where it is none."""
    with suppress(ValueError):
        said = urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode()
        if said.startswith(_CURSOR) and (digits := said.removeprefix(_CURSOR)).isascii() and digits.isdigit():
            return int(digits)
    raise InvalidParameters(f"after: {text!r} is no cursor; `next` of the page before is one")


def ranked(first: Iterable[int], count: int) -> list[int]:
    """Return all places of a batch of `count` items: those in `first`, each once, then the others as they stand."""
    return list(dict.fromkeys(chain((place for place in first if place < count), range(count))))


def page(order: Sequence[int], found: Collection[int], after: int | None, limit: int) -> tuple[list[int], int | None]:
    """Return up to `limit` of the places `found`, in this order, and the one behind which the next page begins.

    `after`: the place behind which the page begins; None: it is the first one. The second is None on the last page.
    """
    begin = 0 if after is None else next((n for n, place in enumerate(order, 1) if place == after), len(order))
    listed = list(islice((place for place in islice(order, begin, None) if place in found), limit + 1))
    return listed[:limit], listed[limit - 1] if len(listed) > limit else None


def reading_first(
    sample: Sequence[int], said: dict[int, Said], order: Sequence[int], ruled: Collection[int], *, pairs: bool
) -> Iterable[int]:
    """Return the places in the order in which people read: a sample, what others of a pair read, the rest, rules' last.

    It is that of `next_records.offered`, with the records that are decided.
    """
    read = sorted(said, key=lambda place: said[place].first) if pairs else ()
    return chain(sample, read, (place for place in order if place not in ruled), (p for p in order if p in ruled))


_LETTERS = "àáâãäåāăąçćčďèéêëēėęěğìíîïīįıłñńňòóôõöøōőřśšşťùúûüūůűųýÿźžż"
_PLAIN = {"ı": "i", "ł": "l", "ø": "o"}  # letters that Unicode does not take apart
_LIKE, _SPECIAL = re.compile(r"([\\%_])"), re.compile(r"([^\w\s])")  # signs of the two kinds of patterns
_PLAIN_RUN = re.compile(r"[A-Za-z0-9]+")
_REWORDED = reason_of("", excludes=False)  # what a release may have put before a criterion
SHORTEST = 4  # letters of a word that is marked
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
    """Return a pattern for LIKE that the small letters of a record with the word match, where it has no accents."""
    return "%" + "".join(_written(one, _LIKE) for one in _small(word)) + "%"


def exact_pattern(word: str) -> str:
    """Return a regular expression of Postgres for the word in a value of a JSON object, whatever its case and accents.

    A field's name is no part of a record's text: what stands before `":` is left out.
    """
    return "".join(map(_exact, _small(word))) + r'(?![^"\\]*":)'


def probe_of(reason: str) -> str:
    """Return the longest part of a reason that every JSON text with it holds, reworded or not; "" if there is none."""
    bare = reason.removeprefix(_REWORDED).removeprefix(_REWORDED.replace(" ", "_"))
    return max(_PLAIN_RUN.findall(bare), key=len, default="")


def _small(word: str) -> str:
    return "".join(_bare(one) for one in unicodedata.normalize("NFC", word.lower()))


def _exact(letter: str) -> str:
    if letter in _FAMILY or (letter.isalpha() and not letter.isascii()):
        return f"[{_FAMILY.get(letter) or letter + letter.upper()[0]}]"
    return _written(letter, _SPECIAL)


def _written(letter: str, special: re.Pattern[str]) -> str:
    """Return a letter as it stands in JSON, what the pattern would take for its own sign escaped."""
    return special.sub(r"\\\1", json.dumps(letter, ensure_ascii=False)[1:-1])


def marked_words(texts: Iterable[str]) -> list[str]:
    """Return the words of criteria that are worth marking in a record, in small letters, in their order."""
    words = (word for text in texts for word in WORD.findall(text.lower()))
    return list(dict.fromkeys(word for word in words if len(word) >= SHORTEST and word not in COMMON))


BEGINS = f'{{"status": "{InclusionStatus.EXCLUDE.value}"%'


def excluded_for(batch_id: UUID, operation: Operation, reasons: Collection[str]) -> list[Select[tuple[int]]]:
    """Return selects that together give the places at which the software gave one of the reasons.

    An inclusion's decisions are looked at on their own: joined with how the items stand, whole answers would go through
    the database's memory.
    """
    software = software_outcomes(batch_id, operation.operation).subquery("software")
    given = select(software.c.idx).where(software.c.reason.in_(reasons))
    probes = {probe_of(reason) for reason in reasons}
    if not isinstance(operation, Inclusion) or "" in probes or NO_REASON in reasons:
        return [given]
    return [_decided(batch_id, operation, reasons, probes), given.where(software.c.state != ItemStatus.DECIDED.value)]


def _decided(
    batch_id: UUID, operation: Inclusion, reasons: Collection[str], probes: Collection[str]
) -> Select[tuple[int]]:
    """Return the inclusion's exclusions for one of the reasons; the text of an answer is looked at before its JSON."""
    within, excluded = cast(results.c.detail, Text), is_value(results.c.value, operation.excludes)
    begins = within.like(BEGINS)  # as workers write it; whatever is written otherwise is parsed
    status = case((begins, True), else_=results.c.detail.op("->>")("status") == operation.excludes)
    written = [f'"exclusion_reason": {json.dumps(reason)}' for reason in reasons]  # no string can hold it unescaped
    found = case(
        (and_(*(func.strpos(within, probe) == 0 for probe in probes)), False),
        (~excluded, False),
        (or_(false(), *(func.strpos(within, one) > 0 for one in written)), status),
        else_=func.coalesce(exclusion_reason().in_(reasons), False),
    )
    decided = (items.c.batch_id == batch_id) & (items.c.idx == results.c.idx)
    return (
        select(results.c.idx)
        .join(items, decided & (items.c.state == ItemStatus.DECIDED.value))
        .where(results.c.batch_id == batch_id, found)
    )


def read_said(connection: Connection, batch_id: UUID) -> dict[int, Said]:
    """Return what people decided about each record, in what the batch asks itself."""
    human = standing(batch_id).c
    alone, several = human.reviewers == 1, cast(human.decisions, JSONB)
    names = case(
        (alone, cast(func.json_build_array(human.reviewer), Text)),
        else_=cast(func.jsonb_path_query_array(several, literal_column("'$[*].reviewer'")), Text),
    )
    first = case((alone, human.id), else_=cast(several.op("->")(0).op("->>")("id"), BigInteger))
    said = (human.conflict, human.settles, human.reason, cast(human.value, Text).label("value"))
    each = select(human.idx, names.label("names"), *said, first.label("first")).subquery("each")
    alike = (each.c.names, each.c.conflict, each.c.settles, each.c.reason, each.c.value)
    rows = connection.execute(select(*alike, func.array_agg(each.c.idx), func.array_agg(each.c.first)).group_by(*alike))
    return {
        place: Said(reviewers, conflict=conflict, settled=settled, first=made, reason=reason, value=value)
        for names, conflict, settled, reason, written, places, numbers in rows
        for reviewers, value in ((tuple(json.loads(names)), None if written is None else json.loads(written)),)
        for place, made in zip(places, numbers, strict=True)
    }


def read_kept_out(connection: Connection, batch_id: UUID) -> set[int]:
    """Return the places of the records that nobody reads: the copies, and what was kept out before screening."""
    kept_out = items.c.state == ItemStatus.EXCLUDED_BY_FILTER.value
    return _places(connection, select(items.c.idx).where(items.c.batch_id == batch_id, kept_out))


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
    kept_out: Collection[int],
) -> set[int] | None:
    """Return the places that outcome, reason, label and flag leave; None where none of them is asked for.

    `reasons`: the words of the reason, where one is asked for. `kept_out`: what nobody reads, whose outcome stands
    though people exclude it.
    """
    parts: list[set[int]] = []
    software = software_outcomes(batch_id, operation.operation).subquery("software")

    def final(place: int, system: Outcome) -> Outcome:
        """How a record ended about which people decided, and the software as given."""
        one = said[place]
        return Outcome.CONFLICT if one.conflict else by_human(operation.operation, one.value, system)

    def ended(places: Collection[int]) -> Iterator[tuple[int, Outcome, Outcome]]:
        """Those of the places about which people decided: each with its outcome, and the software's."""
        here = software.c.idx == any_(literal([*places], ARRAY(Integer)))
        rows = connection.execute(select(software.c.idx, software.c.system).where(here)) if places else ()
        return ((place, final(place, Outcome(system)), Outcome(system)) for place, system in rows)

    if query.outcome is not None:
        found = _places(connection, select(software.c.idx).where(software.c.system == query.outcome.value))
        read = said.keys() - kept_out  # of these the software's outcome tells nothing
        theirs = {place for place in read if final(place, Outcome.OPEN) is query.outcome}
        theirs |= {place for place, outcome, _ in ended(said.keys() - read) if outcome is query.outcome}
        parts.append(found - said.keys() | theirs)
    if query.reason is not None:
        found = set().union(*(_places(connection, one) for one in excluded_for(batch_id, operation, reasons)))
        kept = {place for place, outcome, system in ended(found & said.keys()) if outcome is system}
        given = {place for place, one in said.items() if one.reason in reasons}
        theirs = {place for place, outcome, _ in ended(given) if outcome is Outcome.EXCLUDED}
        parts.append(found - said.keys() | kept | theirs)
    if query.label is not None:
        parts.append(set(read_labelled(connection, batch_id, " ".join(query.label.split()))))
    if query.flagged:
        told = cast(results.c.detail, Text).like('%"flagged"%true%')  # is looked at first, as it is cheaper
        flagged = case((told, results.c.detail.op("->>")("flagged") == "true"), else_=False)
        parts.append(_places(connection, select(results.c.idx).where(results.c.batch_id == batch_id, flagged)))
    return set.intersection(*parts) if parts else None


def search(connection: Connection, batch_id: UUID, words: Iterable[str], places: Sequence[int]) -> set[int]:
    """Return those of the places at which the record holds all of the words."""
    of: ColumnElement[bool]
    if isinstance(places, range):
        of = (payloads.c.idx >= places.start) & (payloads.c.idx < places.stop)
    else:
        of = payloads.c.idx == any_(literal([*places], ARRAY(Integer)))
    return _places(connection, select(payloads.c.idx).where(payloads.c.batch_id == batch_id, of, _holds(words)))


def _holds(words: Iterable[str]) -> ColumnElement[bool]:
    """Return the condition; a case, as the database would try first what it takes for cheaper, which is not.

    The longest word is looked for first, as fewer records hold it.
    """
    text, rarest_first = cast(payloads.c.payload, Text), sorted({*words}, key=len, reverse=True)
    small = func.lower(text.collate("C"))
    plain = func.octet_length(text) == func.char_length(text)  # without accents: the fast comparison is enough
    exactly = and_(*(text.regexp_match(exact_pattern(word), flags="i") for word in rarest_first))
    return case(
        (and_(*(small.like(like_pattern(word)) for word in rarest_first)), exactly), (plain, False), else_=exactly
    )


def _places(connection: Connection, statement: Select[tuple[int]]) -> set[int]:
    one = statement.subquery("one")
    return set(connection.execute(select(func.array_agg(one.c[0]))).scalar_one() or ())
