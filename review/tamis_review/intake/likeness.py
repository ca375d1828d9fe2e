"""Likeness: the verdict on two records (copy, doubt or different), and its reasons.

In a doubt, many fields agree, but something contradicts a copy. A human must check such a pair.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import product

from tamis_schemas.extras import needs

from .traits import Traits

with needs("files"):
    from rapidfuzz import fuzz

# Minimum letters of a title for a copy, by the number of other agreeing fields (year, first author). From titles that
# different papers of one year share ("Posttraumatic stress disorder" has 27).
LETTERS = {2: 20, 1: 35, 0: 60}
LETTERS_WITH_ABSTRACT = 10  # minimum letters if the abstract agrees; "Editorial" has 9
LETTERS_OVER_A_YEAR = 60  # yearly reports have short titles; an article's online year may differ
YEARS_APART = 2  # from a congress abstract to its paper; a greater distance means another edition
ALIKE_TITLES = 85.0  # of 100: typing errors, "Spinosaurusis not" for "Spinosaurus is not"
ALIKE_ABSTRACTS = 70.0  # of 100: copies reach 79 and more, different texts under one title 62 and less
LETTERS_OF_A_NAME = 5  # minimum letters of a name with a misprint: "Chen" is not "Cheng"
TITLE_COMPARED = 500  # letters

# The reason for a doubt if a short title, year, first author and journal agree: too little for a copy.
MANY_PAPERS = ("a title that many papers have",)

_ONE_SPELLING = str.maketrans("wyj", "vii")
_PAGE = re.compile(r":\d")
_NUMBERS = re.compile(r"\d+")


class Key(StrEnum):
    """The fields that identify copies, the strongest first. Each value is the name of a field of `Traits`."""

    DOI = "doi"
    PMID = "pmid"
    TITLE = "title"


class Likeness(StrEnum):
    """The verdict on a pair of records. UNKNOWN: there is no evidence for or against a copy."""

    COPY = "copy"
    DOUBT = "doubt"
    UNKNOWN = "unknown"
    DIFFERENT = "different"


@dataclass(frozen=True)
class PairVerdict:
    """The verdict on a pair of records, and the evidence against a copy. For a copy, this evidence is empty."""

    likeness: Likeness
    against: tuple[str, ...] = ()
    at_one_place: bool = False  # a copy with the same volume and page; no third record can change this verdict


_COPY = PairVerdict(Likeness.COPY)
_UNKNOWN = PairVerdict(Likeness.UNKNOWN, ("too little agreement besides the title",))
_OTHER_TITLE = PairVerdict(Likeness.DIFFERENT, ("another title",))

# Identifiers that a record has only once, with their names.
IDENTIFIERS: Mapping[str, Callable[[Traits], str | None]] = {
    "DOI": lambda record: record.doi,
    "PubMed id": lambda record: record.pmid,
    "trial": lambda record: record.trial,
}


def value_of(own: Traits, key: Key) -> str | None:
    """Return a record's value for a key: its DOI, PubMed id or title."""
    return getattr(own, key.value) or None


def by_identifier(one: Traits, other: Traits) -> PairVerdict:
    """Return the verdict on two records with the same DOI or PubMed id."""
    if one.title == other.title or not one.title or not other.title or _title_in_other_words(one, other):
        return _COPY
    abstracts = _abstracts_alike(one, other)
    if one.notice != other.notice:
        return PairVerdict(Likeness.DIFFERENT, ("one is a notice about the other",))
    if abstracts is False:
        return PairVerdict(Likeness.DIFFERENT, ("another title", "another abstract"))
    # If the abstracts are equal, the titles are one title in two languages.
    return _COPY if abstracts or titles_alike(one, other) else _OTHER_TITLE


def misprinted(first: Traits, second: Traits) -> bool:
    """Return True if the titles of two records of one year are probably misprints of one title.

    One title has lost a letter, or the titles are alike and volume and first page agree. A first page with a letter
    ("A129") does not count, because such a page has many abstracts.
    """
    if first.year != second.year or first.notice != second.notice or not (first.title and second.title):
        return False
    if any(own.lossy and re.fullmatch(own.lossy, way.title) for own, way in ((first, second), (second, first))):
        return True
    return first.place == second.place and _PAGE.search(first.place) is not None and titles_alike(first, second)


def titles_alike(first: Traits, second: Traits) -> bool:
    """Return True if two titles differ by an error, the subtitle or a translation."""
    shorter, longer = sorted((first.title[:TITLE_COMPARED], second.title[:TITLE_COMPARED]), key=len)
    return (
        (len(shorter) >= LETTERS[2] and longer.startswith(shorter))
        or _behind_its_translation(first, second)
        or _behind_its_translation(second, first)
        or (fuzz.ratio(shorter, longer) >= ALIKE_TITLES and _NUMBERS.findall(shorter) == _NUMBERS.findall(longer))
    )


@dataclass(frozen=True)
class SharedTraits:
    """The agreement of two records in fields other than the title. None: a record lacks the field."""

    abstract: bool | None
    author: bool | None
    journal: bool | None
    years_apart: int | None
    place: bool  # volume and first page agree, and journal or year too

    @classmethod
    def of(cls, one: Traits, other: Traits) -> "SharedTraits":
        """Compare two records, and return the agreement of their fields."""
        years_apart = abs(one.year - other.year) if one.year and other.year else None
        journal = one.journal_as_written == other.journal_as_written != () or one.journal.same(other.journal)
        place = one.place == other.place != "" and bool(journal or years_apart == 0)
        return cls(
            abstract=_abstracts_alike(one, other),
            author=_authors_agree(one, other),
            journal=place or journal,  # the same volume and first page show that two names mean one journal
            years_apart=years_apart,
            place=place,
        )

    @property
    def agreeing(self) -> list[str]:
        """Return the names of the fields that agree."""
        agrees_in = {
            "year": self.years_apart == 0,
            "first author": self.author,
            "journal": self.journal,
            "abstract": self.abstract,
            "first page": self.place,
        }
        return [name for name, agrees in agrees_in.items() if agrees]

    @property
    def letters(self) -> int:
        """Return how many letters the title must have for the records to be copies."""
        strong = self.abstract or (self.place and self.author)
        return LETTERS_WITH_ABSTRACT if strong else LETTERS[(self.years_apart == 0) + bool(self.author)]

    def online_first(self, weight: int) -> bool:
        """Return True if the records may be an article and its online form of the year before.

        First author and journal must agree, and the years must differ by one. The abstract must agree, or the title
        must be long. `weight`: the title's number of letters.
        """
        together = self.years_apart == 1 and bool(self.author) and bool(self.journal)
        return together and (bool(self.abstract) or weight >= LETTERS_OVER_A_YEAR)

    @property
    def worth_a_look(self) -> bool:
        """Return True if a human should check two records with one title.

        The two records may be one paper, or a paper and its preprint or congress abstract.
        """
        near = (self.years_apart or 0) <= YEARS_APART
        return bool(self.abstract or (near and (self.author or (self.author is None and self.abstract is None))))


def by_title(one: Traits, other: Traits) -> PairVerdict:
    """Return the verdict on two records whose titles agree, or differ by a subtitle or by language."""
    if one.trial and other.trial and one.trial != other.trial:
        return PairVerdict(Likeness.DIFFERENT, ("another trial",))
    if one.title != other.title and not (_title_in_other_words(one, other) or misprinted(one, other)):
        return _OTHER_TITLE
    evidence = SharedTraits.of(one, other)
    weight = min(one.title_weight, other.title_weight)
    against = tuple(_contradictions(one, other, evidence))
    if len(against) == 1 and evidence.online_first(weight):
        against = ()
    if one.title != other.title:
        return _by_other_title(one, other, evidence, against)
    if weight < evidence.letters:
        if against:
            return PairVerdict(Likeness.DIFFERENT, against)
        many = weight >= LETTERS_WITH_ABSTRACT and evidence.agreeing == ["year", "first author", "journal"]
        return PairVerdict(Likeness.DOUBT, MANY_PAPERS) if many else _UNKNOWN
    if not against:
        return PairVerdict(Likeness.COPY, at_one_place=evidence.place)
    return PairVerdict(Likeness.DOUBT if evidence.worth_a_look else Likeness.DIFFERENT, against)


LIKE: Mapping[Key, Callable[[Traits, Traits], PairVerdict]] = {
    Key.DOI: by_identifier,
    Key.PMID: by_identifier,
    Key.TITLE: by_title,
}


def agreement(one: Traits, other: Traits, key: Key) -> str:
    """Return a text on what two copies have in common, such as `the same title, year and first author`.

    `key`: the field that identified the copies.
    """
    if key is not Key.TITLE:
        return f"the same {key.upper()}, {value_of(one, key)}"
    also = SharedTraits.of(one, other).agreeing
    title = "the same title" if one.title == other.title else "the same title (worded differently)"
    return " and ".join(filter(None, [", ".join([title, *also[:-1]]), *also[-1:]]))


def doubt(one: Traits, other: Traits, against: tuple[str, ...]) -> str:
    """Return why two records are perhaps copies, such as `the same title and first author, but another journal`.

    `against`: the evidence that the records are not copies.
    """
    return f"{agreement(one, other, Key.TITLE)}, but {', '.join(against)}"


def _by_other_title(first: Traits, second: Traits, evidence: SharedTraits, against: tuple[str, ...]) -> PairVerdict:
    """Return the verdict on two records with different titles.

    Copies have the same first author, and years that do not contradict. They also have the same abstract or journal.
    `against`: the evidence against a copy.
    """
    if against or not evidence.author or evidence.years_apart is None:
        return PairVerdict(Likeness.DIFFERENT, ("another title", *against))
    if evidence.abstract or (evidence.place and misprinted(first, second)):
        return PairVerdict(Likeness.COPY, at_one_place=evidence.place)
    if first.other_paper or second.other_paper:
        return PairVerdict(Likeness.DOUBT, ("a subtitle that may name another paper",))
    return _COPY if evidence.journal else PairVerdict(Likeness.DOUBT, ("neither abstract nor journal to compare",))


def _contradictions(first: Traits, second: Traits, evidence: SharedTraits) -> Iterator[str]:
    """Yield short texts, such as "another journal", on why two records with the same title are not copies."""
    for name, get in IDENTIFIERS.items():
        if (ours := get(first)) and (theirs := get(second)) and ours != theirs:
            yield f"another {name}"
    same_article = evidence.place and first.title == second.title
    if evidence.years_apart and first.year and second.year and not (same_article and evidence.years_apart == 1):
        yield f"another year ({min(first.year, second.year)}, {max(first.year, second.year)})"
    if evidence.author is False and not same_article:
        yield "another first author"
    same_text = evidence.abstract and evidence.journal and not evidence.years_apart
    if first.meeting != second.meeting and not (same_article or same_text):
        yield "one is a congress abstract"
    if evidence.journal is False:
        yield "another journal"
    if evidence.abstract is False and not same_article:
        yield "another abstract"


def _title_in_other_words(first: Traits, second: Traits) -> bool:
    """Return True if one title is a form of the other: without the subtitle, or in a single language."""
    return first.title in second.other_titles or second.title in first.other_titles


def _behind_its_translation(both: Traits, other: Traits) -> bool:
    """Return True if the title of `both` ends with the title of `other`, or with another form of that title."""
    return any(len(way) >= LETTERS[2] and both.title.endswith(way) for way in (other.title, *other.other_titles))


def _authors_agree(first: Traits, second: Traits) -> bool | None:
    """Return whether the first authors agree. Return None if a record has no author.

    Two transliterations of a name also agree ("Vishnevskii", "Wischnewsky").
    """
    if not first.author or not second.author:
        return None
    if not first.author.isdisjoint(second.author):
        return True
    ours, theirs = ([name.translate(_ONE_SPELLING) for name in own.author] for own in (first, second))
    pairs = [pair for pair in product(ours, theirs) if len(min(pair, key=len)) >= LETTERS_OF_A_NAME]
    return any(fuzz.ratio(*pair) >= ALIKE_TITLES for pair in pairs)


def _abstracts_alike(first: Traits, second: Traits) -> bool | None:
    """Return whether the abstracts agree, or one begins with the other. Return None if an abstract is missing."""
    length = min(len(first.abstract), len(second.abstract))
    if not length:
        return None
    return fuzz.ratio(first.abstract[:length], second.abstract[:length], score_cutoff=ALIKE_ABSTRACTS) > 0
