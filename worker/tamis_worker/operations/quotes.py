"""Quotes checked against the record that they are said to come from. Pure.

A quote is found where a shown field says the same after folding (`FoldedText`), or 0.95 similar by rapidfuzz's partial
alignment. An ellipsis within it splits it into parts, which must stand in one field and in order.

It runs on the worker's one event loop, so its work is bounded: only so many characters of a record are searched, and
only so much is compared for similarity; what is left over after that is looked for word for word.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from rapidfuzz import fuzz

from tamis_schemas import Item
from tamis_schemas.item import shown_fields
from tamis_schemas.penalties import QUOTE_PENALTY
from tamis_schemas.results import Quote, QuoteState

from .folded_text import FoldedText
from .not_present import NOT_PRESENT
from .prompt import shown_value

SIMILAR = 0.95  # a quote of this similarity is found
PENALTY = QUOTE_PENALTY  # the share of a confidence that is lost where no quote is in the record

SHORT = 20  # characters: a shorter quote must stand there word for word, as whole words
SEARCHED = 2_000_000  # characters of a record; more than any model reads
COMPARED = 50_000_000  # characters of quotes times characters of fields, for one answer; under 0.15 s
TRIED = 1_000  # places of a short quote in a field that are looked at for one with whole words

# What models write for "no quote". Where the record itself says it, it is a quote.
NOTHING = NOT_PRESENT | {"nothing", "not given", "unclear", "no mention", "no quote", "no evidence"}

_ELLIPSIS = re.compile(r"[\[(]? ?(?:\. ?){3,}[\])]?")
_AROUND = " '.,;:-[](){}<>"  # stripped from both ends
_FIRST_UNSPACED_SCRIPT = "\u2e80"  # from here on, scripts mostly write words without spaces between them


@dataclass(frozen=True)
class _Field:
    name: str
    text: FoldedText
    has_places: bool  # a text; a list or an object is searched as it is shown


@dataclass(frozen=True)
class _Match:
    """The most similar passage: characters of the folded text."""

    start: int = 0
    end: int = 0
    similarity: float = 0.0

    @property
    def found(self) -> bool:
        return self.similarity >= SIMILAR


class QuotedRecord:
    """One record, in which the quotes of one answer are looked for."""

    def __init__(self, item: Item) -> None:
        self._item = item
        self.left = COMPARED  # characters that may still be compared

    def find(self, text: str) -> Quote | None:
        """The quote, with its place where the record holds it; None where the text is no quote at all.

        No quote are a text without a letter or a digit, and `NOTHING` where the record does not say so itself.
        """
        sought = _core(FoldedText(text).folded)
        if not any(character.isalnum() for character in sought):
            return None
        for words in (sought, self._without_name(sought)):
            for field in self._fields:
                if words and (match := _exact(field.text.folded, words, 0)):
                    return _found(text, field, match)
        if sought in NOTHING:
            return None
        parts = [core for part in _ELLIPSIS.split(self._without_name(sought)) if (core := _core(part))]
        best, most = None, _Match()
        for field in self._fields:
            match = self._in_order(field.text.folded, parts)
            if match.found:
                return _found(text, field, match)
            if best is None or match.similarity > most.similarity:
                best, most = field, match
        return Quote(text=text, state=QuoteState.NOT_FOUND, similarity=round(most.similarity, 4))

    @cached_property
    def _fields(self) -> list[_Field]:
        return list(self._folded())

    def _folded(self) -> Iterator[_Field]:
        left = SEARCHED
        for name, value in shown_fields(self._item).items():
            text = (value if isinstance(value, str) else shown_value(value))[:left]
            left -= len(text)
            if text:
                yield _Field(name, FoldedText(text), isinstance(value, str))

    def _without_name(self, sought: str) -> str:
        """The quote without a field's name before it: a model sees `title: ...` as one line."""
        for field in self._fields:
            name = FoldedText(field.name).folded.strip()
            if name and sought.startswith(f"{name}:"):
                return _core(sought[len(name) + 1 :])
        return sought

    def _in_order(self, folded: str, parts: Sequence[str]) -> _Match:
        start, end = None, 0
        similarity = 1.0 if parts else 0.0
        for part in parts:
            match = _exact(folded, part, end) or self._nearest(folded, part, end)
            similarity = min(similarity, match.similarity)
            if match.found:
                start, end = match.start if start is None else start, match.end
        return _Match(start or 0, end, similarity)

    def _nearest(self, folded: str, words: str, begin: int) -> _Match:
        """The most similar passage from a place on; nothing for a short quote, or where all comparing is done."""
        rest = folded[begin:]
        cost = len(words) * len(rest)
        if len(words) < SHORT or not rest or cost > self.left:
            return _Match()
        self.left -= cost
        if len(rest) < len(words):  # a partial alignment would look for the field in the quote
            return _Match(begin, len(folded), fuzz.ratio(words, rest) / 100)
        aligned = fuzz.partial_ratio_alignment(words, rest)
        if aligned is None:
            return _Match()
        return _Match(begin + aligned.dest_start, begin + aligned.dest_end, aligned.score / 100)


def lowered(confidence: float, quotes: Sequence[Quote]) -> float:
    """The confidence that an answer's quotes leave: `confidence * (1 - 0.5 * missing / given)`.

    From half of the confidence, where none of them is in the record, to all of it, where each one is or none is given.
    """
    if not quotes:
        return confidence
    missing = sum(not quote.found for quote in quotes)
    return confidence * (1 - PENALTY * missing / len(quotes))


def _exact(folded: str, words: str, begin: int) -> _Match | None:
    start = folded.find(words, begin)
    for _ in range(TRIED):
        if start < 0:
            return None
        end = start + len(words)
        if len(words) >= SHORT or not (_inside_word(folded, start) or _inside_word(folded, end)):
            return _Match(start, end, 1.0)
        start = folded.find(words, start + 1)
    return None


def _inside_word(folded: str, place: int) -> bool:
    """True where the place parts two letters of one word: "men" is not in "treatment"."""
    around = folded[max(0, place - 1) : place + 1]
    return place > 0 and len(around) == 2 and all(c.isalnum() and c < _FIRST_UNSPACED_SCRIPT for c in around)


def _found(text: str, field: _Field, match: _Match) -> Quote:
    place = field.text.place(match.start, match.end) if field.has_places else None
    return Quote(
        text=text,
        state=QuoteState.FOUND,
        similarity=round(match.similarity, 4),
        field=field.name,
        start=None if place is None else place.start,
        end=None if place is None else place.end,
    )


def _core(folded: str) -> str:
    """Without the quotation marks, ellipses and other marks around it."""
    return folded.strip(_AROUND)
