"""Quotes checked against the record that they are taken from. Pure.

An ellipsis within a quote splits it into parts, which must stand in one field and in order. What is found
there, and what is altered, says `field_match`.

It runs on the worker's one event loop, so its work is bounded: only so many characters of a record are searched, and
only so much is compared for similarity; what is left over after that is looked for word for word.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cached_property

from tamis_schemas import Item
from tamis_schemas.answers.judgement import after_quotes
from tamis_schemas.answers.results import Difference, Quote, QuoteState
from tamis_schemas.records.item import shown_fields

from .field_match import NOWHERE, SHORT, Match, QuotedField, QuotePart, exact, in_order, nearest, same
from .folded_text import FoldedText
from .not_present import NOT_PRESENT
from .one_line import shown_value
from .quote_alignment import WordDifference

SEARCHED = 2_000_000  # characters of a record; more than any model reads
COMPARED = 50_000_000  # characters of quotes times characters of fields, for one answer; under 0.15 s

# Where the record itself says one of these, it is a quote.
NO_QUOTE_PHRASES = NOT_PRESENT | {"nothing", "not given", "unclear", "no mention", "no quote", "no evidence"}

_ELLIPSIS = re.compile(r"[\[(]? ?(?:\. ?){3,}[\])]?")
_AROUND = " '.,;:-[](){}<>"  # stripped from both ends
_SIGN = re.compile(r"(?:[<>]=? ?)?-?[.\u00b7]?\Z")  # before the first digit of a quote; `endpos` is its \Z
_RANK = {QuoteState.NOT_FOUND: 0, QuoteState.ALTERED: 1, QuoteState.FOUND: 2}


class QuotedRecord:
    """One record, in which the quotes of one answer are looked for."""

    def __init__(self, item: Item) -> None:
        self._item = item
        self.left = COMPARED  # characters that may still be compared

    def find(self, text: str) -> Quote | None:
        """The quote, with its place where the record holds it; None where the text is no quote at all.

        No quote are a text without a letter or a digit, and `NO_QUOTE_PHRASES` where the record does not say so itself.
        """
        folded = FoldedText(text)
        whole = _core(folded.folded, 0, len(folded.folded))
        if not any(character.isalnum() for character in whole.words):
            return None
        named = self._without_name(whole)
        for part in (whole,) if named is whole else (whole, named):
            for field in self._fields:
                if part.words and (match := exact(field.folded, part.words, 0)):
                    return _quote(folded, text, field, match)
        if whole.words in NO_QUOTE_PHRASES:
            return None
        parts = list(_parts(named))
        for field in self._fields:
            match = in_order(field, parts, same)
            if match.state is QuoteState.FOUND:
                return _quote(folded, text, field, match)
        best, best_field = NOWHERE, None
        for field in self._fields:
            match = in_order(field, parts, self._nearest)
            if best_field is None or (_RANK[match.state], match.similarity) > (_RANK[best.state], best.similarity):
                best, best_field = match, field
        if best_field is None or best.state is QuoteState.NOT_FOUND:
            return Quote(text=text, state=QuoteState.NOT_FOUND, similarity=round(best.similarity, 4))
        return _quote(folded, text, best_field, best)

    @cached_property
    def _fields(self) -> list[QuotedField]:
        return list(self._folded())

    def _folded(self) -> Iterator[QuotedField]:
        left = SEARCHED
        for name, value in shown_fields(self._item).items():
            text = (value if isinstance(value, str) else shown_value(value))[:left]
            left -= len(text)
            if text:
                yield QuotedField(name, text, has_places=isinstance(value, str))

    def _without_name(self, whole: QuotePart) -> QuotePart:
        """The quote without a field's name before it: a model sees `title: ...` as one line."""
        for field in self._fields:
            if len(field.prefix) > 1 and whole.words.startswith(field.prefix):
                return _core(whole.words, len(field.prefix), len(whole.words), whole.start)
        return whole

    def _nearest(self, field: QuotedField, part: QuotePart, begin: int) -> Match:
        """The same or the most similar passage; the same alone for a short quote, or where all comparing is done."""
        match = same(field, part, begin)
        cost = len(part.words) * (len(field.folded) - begin)
        if match.state is QuoteState.FOUND or len(part.words) < SHORT or not 0 < cost <= self.left:
            return match
        self.left -= cost
        return nearest(field, part, begin)


def confidence_after(confidence: float, quotes: Sequence[Quote]) -> float:
    """The confidence that an answer's quotes leave: `confidence * (1 - 0.5 * missing / given)`.

    From half of the confidence, where none of them is in the record, to all of it, where each one is or none is given.
    """
    return after_quotes(confidence, sum(not quote.found for quote in quotes), len(quotes))


def _quote(folded: FoldedText, text: str, field: QuotedField, match: Match) -> Quote:
    place = field.folded_text.place(match.start, match.end) if field.has_places else None
    return Quote(
        text=text,
        state=match.state,
        similarity=round(match.similarity, 4),
        field=field.name,
        start=None if place is None else place.start,
        end=None if place is None else place.end,
        differences=tuple(_difference(folded, text, field, words) for words in match.differences),
    )


def _difference(folded: FoldedText, text: str, field: QuotedField, words: WordDifference) -> Difference:
    if words.quote_start == words.quote_end:
        start = end = folded.place(words.quote_end - 1, words.quote_end).end if words.quote_end else 0
    else:
        place = folded.place(words.quote_start, words.quote_end)
        start, end = place.start, place.end
    return Difference(quoted=text[start:end], recorded=field.words(words.start, words.end), start=start, end=end)


def _parts(named: QuotePart) -> Iterator[QuotePart]:
    """The quote's parts between ellipses."""
    start = 0
    for ellipsis in [*_ELLIPSIS.finditer(named.words), None]:
        end = len(named.words) if ellipsis is None else ellipsis.start()
        part = _core(named.words, start, end, named.start)
        if part.words:
            yield part
        start = end if ellipsis is None else ellipsis.end()


def _core(words: str, start: int, end: int, offset: int = 0) -> QuotePart:
    """A part without the quotation marks, ellipses and other marks around it; a number keeps its sign."""
    core = words[start:end].lstrip(_AROUND)
    begin = end - len(core)
    if core[:1].isdigit() and (sign := _SIGN.search(words, start, begin)):
        begin = sign.start()
    return QuotePart(offset + begin, words[begin:end].rstrip(_AROUND))
