"""Journals: a comparison of names (full or abbreviated) and ISSNs.

There is no list of abbreviations. An abbreviation has the words of the full name in order, without articles and
prepositions. Each word is shortened to its beginning ("Otolaryngol"), or to its first letter and some later letters
("Natl").
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

Words: TypeAlias = tuple[str, ...]

NAME_READ = 300  # characters
NAME_BEFORE_DASH = 3  # words; "Otolaryngology - Head and Neck Surgery" is one name
CONTRACTION = 4  # minimum letters: "Natl", "Dtsch"; "Res" is not a contraction of "Reviews"
ACRONYM = 3  # minimum letters: BMJ, JAMA, PNAS
# fmt: off
_SMALL_WORDS = frozenset((
    "the", "of", "and", "for", "in", "on", "a", "an", "at", "to", "de", "la", "le", "les", "du", "des", "el", "y", "et",
    "der", "die", "das", "und", "fur", "fuer", "di", "della", "e", "da", "do", "voor", "van", "en",
))
# fmt: on
# A congress has another name in every database, and a part or supplement belongs to its journal.
_MEETING = frozenset(("conference", "conf", "proceedings", "proc", "symposium", "symp", "congress", "workshop"))
_NOT_TELLING = _MEETING | {"annual", "annu", "international", "int", "st", "nd", "rd", "th"}
_PARTS = frozenset(("supplement", "supplements", "suppl", "supplementum", "part", "pt"))
_AT_END = frozenset(("international", "int"))  # suffixes by which Index Medicus distinguishes journals of one name
_LEFT_OUT = _SMALL_WORDS | _PARTS
_ISSN = re.compile(r"(?<![\w-])(\d{4})-?(\d{3}[\dXx])(?![\w-])")  # not within an ISBN
# Text after the name: a place, an explanation, volume, pages, a congress.
_BEHIND = re.compile(
    r"\s*(?:[(\[;]|\s:\s|:\s(?:an?|the)\s|,\s*(?:vol\b|\d)|\.\s*(?:vol\b|conference\b|\d|\()).*",
    re.IGNORECASE | re.DOTALL,
)
_TWO_NAMES = re.compile(r"\s=\s|\s?/\s?|\]\s|(?<=^[A-Z]{4})\.\s")  # "CMAJ. Canadian Medical ...", "[Zasshi] Journal"
# "International journal of cancer. Journal international du cancer", "Zhonghua yi xue za zhi [Chinese medical journal]"
_SECOND_NAME = re.compile(r"(?<=[^\W\d_]{5})\.\s(?=[A-Z])(?!Conference)|\s\[|\]")
_ACRONYM_BEFORE = re.compile(r"([^\W\d_]{3,6})[.:]\s+(?=\w)")
# Words of names from languages with another script, transcribed into Latin letters. Such a name has no word in common
# with the English name or with another transcription.
_TRANSCRIBED = re.compile(
    r"(?P<wade_giles>chih|tsa)|(?P<pinyin>zhong.*|zhi|zazhi)|(?P<hepburn>zasshi|gakkai|ni(?:hon|ppon)|igaku|ryoho)|"
    r"(?P<russian>zhurnal|vestnik|voprosy|.{5,}(?:ii|iia|aia))|(?P<bgn>.{5,}(?:iya|aya))"
)
_WORD = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True)
class Journal:
    """The names and ISSNs of a record's journal."""

    names: frozenset[Words]  # each name in two spellings: with spaces for hyphens, and without hyphens
    issns: frozenset[str]  # eight characters each

    def same(self, other: "Journal") -> bool | None:
        """Return whether this journal is the other journal, or None if names and ISSNs do not decide this."""
        if self.issns & other.issns:
            return True
        pairs = [(first, second) for first in self.names for second in other.names]
        if any(_same_name(first, second) for first, second in pairs):
            return True
        if all(_transcription(first) != _transcription(second) for first, second in pairs):
            return None
        return None if any(_may_be_same(first, second) for first, second in pairs) else False


def journal_of(names: Iterable[str], issns: Iterable[str]) -> Journal:
    """Return the journal with the names and ISSNs in these texts of a record."""
    ways = {way for text in names for name in _names(text[:NAME_READ]) for way in _ways(name)}
    numbers = {"".join(number).upper() for text in issns for number in _ISSN.findall(text[:NAME_READ])}
    return Journal(frozenset(ways), frozenset(numbers))


def _names(text: str) -> Iterator[str]:
    """Yield every name in a text: the whole text, the name in each language, and the parts before and after a dash."""
    for name in _TWO_NAMES.split(text):
        yield name
        yield from (part for part in _SECOND_NAME.split(name) if len(part.split()) >= NAME_BEFORE_DASH)
        if acronym := _ACRONYM_BEFORE.match(name):
            rest = name[acronym.end() :]
            yield from [rest] if any(_same_name((acronym[1].casefold(),), way) for way in _ways(rest)) else []
        before, dash, after = name.partition(" - ")
        if dash and (before.isupper() or len(before.split()) >= NAME_BEFORE_DASH):
            yield before
        if dash and before.isupper():
            yield after


def _ways(name: str) -> list[Words]:
    plain = "".join(
        sign
        for sign in unicodedata.normalize("NFKD", _BEHIND.sub("", name.lstrip(" [("), count=1))
        if not unicodedata.combining(sign)
    ).casefold()
    ways = (re.sub(r"[-\u2010-\u2015]", joint, plain) for joint in (" ", ""))
    spelt = ([word for word in _WORD.findall(way) if word not in _LEFT_OUT] for way in ways)
    words = (tuple(way[:-1] if way and way[-1] in _AT_END else way) for way in spelt)
    return [way for way in words if not _NOT_TELLING.issuperset(way)]


def _same_name(first: Words, second: Words) -> bool:
    if len(first) == len(second):
        return all(map(_same_word, first, second))
    short, long = sorted((first, second), key=len)
    return len(short) == 1 and len(short[0]) >= ACRONYM and "".join(word[0] for word in long).startswith(short[0])


def _same_word(first: str, second: str) -> bool:
    short, long = sorted((first, second), key=len)
    if long.startswith(short):
        return True
    return len(short) >= CONTRACTION and short[0] == long[0] and _stands_in_order(short, long)


def _stands_in_order(letters: str, word: str) -> bool:
    rest = iter(word)
    return all(letter in rest for letter in letters)


def _may_be_same(first: Words, second: Words) -> bool:
    """Return True if two different names may still mean one journal.

    This holds for names in different scripts. It also holds for two names of congresses, if one name has the words of
    the other name, in order.
    """
    if first[0].isascii() != second[0].isascii():
        return True
    if _MEETING.isdisjoint(first) or _MEETING.isdisjoint(second):
        return False
    short, long = sorted(([word for word in name if word not in _NOT_TELLING] for name in (first, second)), key=len)
    rest = iter(long)
    return all(any(_same_word(word, against) for against in rest) for word in short)


def _transcription(name: Words) -> str | None:
    return next((match.lastgroup for match in map(_TRANSCRIBED.fullmatch, name) if match), None)
