"""The check of quotes against the record that they are taken from.

An ellipsis splits a quote into parts, which must be in one field and in order.

A part is found if the field has the same text after folding (`FoldedText`) or the same sequence of tokens (`Tokens`).
If the nearest passage is similar enough, but a token differs, the part is altered.

The check runs on the worker's event loop, so its work is limited: it reads at most `SEARCHED` characters of a record.
When its comparisons have cost `COMPARED`, it finds only passages with the same words, not similar passages.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import TypeAlias

from rapidfuzz import fuzz

from tamis_schemas import Item
from tamis_schemas.answers.judgement import after_quotes
from tamis_schemas.answers.results import Difference, Quote, QuoteState
from tamis_schemas.records.item import shown_fields, shown_value

from .folded_text import FoldedText
from .not_present import NOT_PRESENT
from .quote_alignment import WordDifference, aligned, extended, leaves_out
from .quote_scope import negation_ahead, negation_behind, turns
from .quote_tokens import NEGATING, Tokens

SEARCHED = 2_000_000  # characters of a record; more than any model reads
COMPARED = 50_000_000  # characters of quotes times characters of fields, for one answer; under 0.15 s

# If the record contains such a phrase, it is a quote.
NO_QUOTE_PHRASES = NOT_PRESENT | {"nothing", "not given", "unclear", "no mention", "no quote", "no evidence"}

_ELLIPSIS = re.compile(r"[\[(]? ?(?:\. ?){3,}[\])]?")
_CITATION = re.compile(r"(?<=[a-z)%])[.,']* ?\[\d{1,3}(?:[-,] ?\d{1,3})*\Z")  # at a part's end: "tolerated [3, 4]"
_AROUND = " '.,;:-[](){}<>"  # stripped from both ends
_SIGN = re.compile(r"(?:[<>]=? ?)?-?[.\u00b7]?\Z")  # before the first digit of a quote; `endpos` is its \Z
_RANK = {QuoteState.NOT_FOUND: 0, QuoteState.ALTERED: 1, QuoteState.FOUND: 2}

SIMILAR = 0.7  # a quote with this similarity to a passage is altered, not invented
SHARED = 0.4  # and if this share of its tokens is in the passage

SHORT = 20  # characters: a shorter quote must match word for word, as whole words
BROKEN_OFF = 100  # characters: a quote of this length may end within a word, because an endpoint cut it
FEW = 2  # tokens with content: with fewer, function words must agree too
MARGIN = 60  # characters on both sides of the most similar passage that may belong to it
TOKENISED = 200_000  # characters of a field that are compared by tokens
LONGEST = 10_000  # characters of a quote that is compared by tokens; a longer quote must match word for word
TRIED = 1_000  # most places in a field that are tried for a match of whole words

_IN_NUMBER = ".,\u00b7-"
_INSIDE_BEFORE = re.compile(r"\d[.,\u00b7]\Z|(?<![^\s(\[{=<>:;,~])-\Z")  # a decimal point, a minus
_NEGATING = re.compile(rf"\b(?:{'|'.join(NEGATING)})-\Z")
_FIRST_UNSPACED_SCRIPT = "\u2e80"  # from here on, most scripts do not separate words by spaces


@dataclass(eq=False)
class QuotedField:
    """A field of the record that is searched for quotes, with its folded text."""

    name: str
    text: str
    _: KW_ONLY
    has_places: bool  # True for a text; a list or an object is searched as shown in the prompt

    def __post_init__(self) -> None:
        self.folded_text = FoldedText(self.text)
        self.folded = self.folded_text.folded
        self.prefix = FoldedText(self.name).folded.strip() + ":"  # a model may copy it before a quote

    @cached_property
    def tokens(self) -> Tokens:
        return Tokens(self.folded[:TOKENISED])

    def words(self, start: int, end: int) -> str:
        """Return the original characters of `folded[start:end]`."""
        if start == end:
            return ""
        place = self.folded_text.place(start, end)
        return self.text[place.start : place.end]


@dataclass(frozen=True, slots=True)
class QuotePart:
    """A part of a quote: its position in the folded quote, and its characters."""

    start: int
    words: str

    @property
    def end(self) -> int:
        return self.start + len(self.words)


@dataclass(frozen=True, slots=True)
class Match:
    """The passage of a folded field that matches a quote, exactly or nearly.

    `start` and `end` are positions in the folded field. Each difference has positions in both folded texts.
    """

    state: QuoteState = QuoteState.NOT_FOUND
    similarity: float = 0.0
    start: int = 0
    end: int = 0
    differences: tuple[WordDifference, ...] = ()


NOWHERE = Match()

MatchIn: TypeAlias = Callable[[QuotedField, QuotePart, int], Match]  # match of a part, from a place in the field on


def in_order(field: QuotedField, parts: Sequence[QuotePart], match_in: MatchIn) -> Match:
    """Return the match of a quote whose `parts` occur in one field in order. `match_in` finds the match of one part."""
    matches: list[Match] = []
    end = 0
    for part in parts:
        match = match_in(field, part, end)
        matches.append(match)
        if match.state is QuoteState.NOT_FOUND:
            return Match(similarity=min(part_match.similarity for part_match in matches))
        end = match.end
    return _joined(field, parts, matches)


def exact(folded: str, part: QuotePart, begin: int) -> Match | None:
    """Return the first passage from `begin` on with the part's words; None if there is no such passage.

    A passage without an adjacent negation is preferred.
    """
    words, start, negated = part.words, begin - 1, None
    for _ in range(TRIED):
        start = folded.find(words, start + 1)
        if start < 0:
            break
        end = start + len(words)
        if not _inside(folded, start) and (not _inside(folded, end) or _breaks_off(folded, words, end)):
            match = _in_scope(folded, part, begin, start, end)
            if match.state is QuoteState.FOUND:
                return match
            negated = negated or match
    return negated


def _in_scope(folded: str, part: QuotePart, begin: int, start: int, end: int, similarity: float = 1.0) -> Match:
    """Return the match of a passage with the part's words. Its state is `ALTERED` if a negation beside it is left out.

    If `begin` is not 0, the passage follows an ellipsis. Then a negation before the passage is not checked here.
    """
    behind, ahead = None if begin else negation_behind(folded, start), negation_ahead(folded, end)
    if behind or ahead:
        differences = [WordDifference(part.start, part.start, *behind)] if behind else []
        differences += [WordDifference(part.end, part.end, *ahead)] if ahead else []
        return Match(QuoteState.ALTERED, similarity, start, end, tuple(differences))
    return Match(QuoteState.FOUND, similarity, start, end)


def _inside(folded: str, place: int) -> bool:
    """Return whether a place is within a word or number.

    So "men" is not found in "treatment", and "5 mg" is not found in "1.5 mg".
    """
    if not 0 < place < len(folded):
        return False
    before, after = folded[place - 1], folded[place]
    if before.isalnum() and after.isalnum():
        return before < _FIRST_UNSPACED_SCRIPT and after < _FIRST_UNSPACED_SCRIPT
    if after.isdigit() and before in _IN_NUMBER:
        return _INSIDE_BEFORE.search(folded, max(0, place - 3), place) is not None
    if before.isdigit() and after in _IN_NUMBER:
        return folded[place + 1 : place + 2].isdigit() and after != "-"
    return before == "-" and after.isalpha() and _NEGATING.search(folded, max(0, place - 6), place) is not None


def _breaks_off(folded: str, words: str, end: int) -> bool:
    """Return whether a long quote ends within a word. An endpoint may have cut such a quote at the length limit."""
    return len(words) >= BROKEN_OFF and folded[end - 1].isalpha() and folded[end].isalpha()


def same(field: QuotedField, part: QuotePart, begin: int) -> Match:
    """Return the first passage from `begin` on with the part's words or tokens; `NOWHERE` if there is none."""
    if match := exact(field.folded, part, begin):
        return match
    if not SHORT <= len(part.words) <= LONGEST or len((tokens := Tokens(part.words)).content) < FEW:
        return NOWHERE
    record = field.tokens
    for run in record.find(tokens, begin):
        if not leaves_out(tokens, record, run):
            whole = extended(tokens, record, run)
            start, end = record.spans[whole.start][0], record.spans[whole.stop - 1][1]
            similarity = fuzz.ratio(part.words, field.folded[start:end]) / 100
            match = _in_scope(field.folded, part, begin, start, end, similarity)
            if match.state is QuoteState.FOUND:
                return match
    return NOWHERE


def nearest(field: QuotedField, part: QuotePart, begin: int) -> Match:
    """Return the most similar passage from `begin` on, with its differences from the part.

    If no passage is similar enough, return a match with the state `NOT_FOUND`.
    """
    words, rest = part.words, field.folded[begin:] if begin else field.folded
    if len(rest) < len(words):  # a partial alignment would search for the field in the quote
        similarity, start, end = fuzz.ratio(words, rest) / 100, begin, len(field.folded)
    else:
        place = fuzz.partial_ratio_alignment(words, rest)
        if place is None:
            return NOWHERE
        similarity, start, end = place.score / 100, begin + place.dest_start, begin + place.dest_end
    if similarity < SIMILAR or len(words) > LONGEST:
        return Match(similarity=similarity)
    return _compared(field.folded, part, start, end, begin, similarity)


def _compared(folded: str, part: QuotePart, start: int, end: int, begin: int, similarity: float) -> Match:
    """Compare the part's tokens with those of the most similar passage, `folded[start:end]`, and return the match."""
    first, last = max(begin, start - MARGIN), min(len(folded), end + MARGIN)
    while first > begin and _inside(folded, first):
        first -= 1
    while last < len(folded) and _inside(folded, last):
        last += 1
    quote, passage = Tokens(part.words), Tokens(folded[first:last])
    if len(quote.content) < FEW:
        quote, passage = Tokens(part.words, every_word=True), Tokens(folded[first:last], every_word=True)
    alignment = aligned(quote, passage, may_break_off=len(part.words) >= BROKEN_OFF)
    if alignment is None or alignment.shared < SHARED:
        return Match(similarity=similarity)
    differences = tuple(
        WordDifference(part.start + word.quote_start, part.start + word.quote_end, first + word.start, first + word.end)
        for word in alignment.differences
    )
    start, end = first + alignment.start, first + alignment.end
    if differences:
        return Match(QuoteState.ALTERED, similarity, start, end, differences)
    return _in_scope(folded, part, begin, start, end, similarity)


def _tightened(field: QuotedField, parts: Sequence[QuotePart], matches: Sequence[Match]) -> list[Match]:
    """Return the matches, each moved as near to the next match as the part's words allow.

    So each ellipsis omits as little as possible.
    """
    tight = list(matches)
    for n in range(len(tight) - 2, -1, -1):
        words, before = parts[n].words, tight[n + 1].start
        start = field.folded.rfind(words, tight[n].end, before)
        if start >= 0 and not _inside(field.folded, start) and not _inside(field.folded, start + len(words)):
            tight[n] = _in_scope(field.folded, parts[n], n, start, start + len(words))
    return tight


def _joined(field: QuotedField, parts: Sequence[QuotePart], matches: Sequence[Match]) -> Match:
    """Return the match of a whole quote from the matches of its parts.

    If an ellipsis joins pieces of different sentences or hides a negation, the quote is altered.
    """
    if not matches:
        return NOWHERE
    matches = _tightened(field, parts, matches)
    differences = [difference for match in matches for difference in match.differences]
    for before, after, part in zip(matches, matches[1:], parts, strict=False):
        if turns(field.text, field.folded_text, before.end, after.start):
            omitted = _core(field.folded, before.end, after.start)
            differences = [word for word in differences if not omitted.start <= word.start < omitted.end]
            differences.append(WordDifference(part.end, part.end, omitted.start, omitted.end))
    differences.sort(key=lambda difference: difference.quote_start)
    return Match(
        QuoteState.ALTERED if differences else QuoteState.FOUND,
        min(match.similarity for match in matches),
        matches[0].start,
        matches[-1].end,
        tuple(differences),
    )


class QuotedRecord:
    """One record, searched for the quotes of one answer."""

    def __init__(self, item: Item) -> None:
        self._item = item
        self.left = COMPARED  # characters that may still be compared

    def find(self, text: str) -> Quote | None:
        """Return the checked quote, with its position if the record contains it; None if the text is no quote.

        A text without a letter or digit is no quote. A phrase in `NO_QUOTE_PHRASES` is a quote only if the record
        contains the phrase.
        """
        folded = FoldedText(text)
        whole = _core(folded.folded, 0, len(folded.folded))
        if not any(character.isalnum() for character in whole.words):
            return None
        named = self._without_name(whole)
        for part in (whole,) if named is whole else (whole, named):
            for field in self._fields:
                if part.words and (match := exact(field.folded, part, 0)) and match.state is QuoteState.FOUND:
                    return _quote(folded, text, field, match)
        if whole.words in NO_QUOTE_PHRASES:
            return None
        parts = list(_parts(named))
        for field in self._fields:
            match = in_order(field, parts, same)
            if match.state is QuoteState.FOUND:
                return _quote(folded, text, field, match)
        matches = [(in_order(field, parts, self._nearest), field) for field in self._fields]
        best, best_field = max(
            matches, key=lambda pair: (_RANK[pair[0].state], pair[0].similarity), default=(NOWHERE, None)
        )
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
        """Return the quote without a field's name at its beginning.

        Models copy the name, because prompts show `title: ...`.
        """
        for field in self._fields:
            if len(field.prefix) > 1 and whole.words.startswith(field.prefix):
                return _core(whole.words, len(field.prefix), len(whole.words), whole.start)
        return whole

    def _nearest(self, field: QuotedField, part: QuotePart, begin: int) -> Match:
        """Return the passage with the part's words, or else the most similar passage.

        For a short part, or if comparing would cost too much, do not look for a similar passage.
        """
        match = same(field, part, begin)
        cost = len(part.words) * (len(field.folded) - begin)
        if match.state is not QuoteState.NOT_FOUND or len(part.words) < SHORT or not 0 < cost <= self.left:
            return match
        self.left -= cost
        return nearest(field, part, begin)


def confidence_after(confidence: float, quotes: Sequence[Quote]) -> float:
    """Return `confidence * (1 - 0.5 * missing / all)` after the check of the quotes.

    A quote is missing if the record does not contain the quote. Without quotes, the confidence stays the same.
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
    """Yield the parts of a quote between its ellipses."""
    start = 0
    for ellipsis in [*_ELLIPSIS.finditer(named.words), None]:
        end = len(named.words) if ellipsis is None else ellipsis.start()
        part = _core(named.words, start, end, named.start)
        if words := _CITATION.sub("", part.words):
            yield QuotePart(part.start, words)
        start = end if ellipsis is None else ellipsis.end()


def _core(words: str, start: int, end: int, offset: int = 0) -> QuotePart:
    """Return a part of a quote without the punctuation around it. A number at the beginning keeps its sign."""
    core = words[start:end].lstrip(_AROUND)
    begin = end - len(core)
    if core[:1].isdigit() and (sign := _SIGN.search(words, start, begin)):
        begin = sign.start()
    return QuotePart(offset + begin, words[begin:end].rstrip(_AROUND))
