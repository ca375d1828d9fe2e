"""Quotes checked against the record that they are said to come from. Pure.

A quote is found where a shown field says the same after folding (`FoldedText`), or where the same tokens follow each
other there (`Tokens`). An ellipsis within it splits it into parts, which must stand in one field and in order. Where
the nearest passage is similar enough, but a token differs, the quote is altered, and the differences are told.

It runs on the worker's one event loop, so its work is bounded: only so many characters of a record are searched, and
only so much is compared for similarity; what is left over after that is looked for word for word.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from rapidfuzz import fuzz

from tamis_schemas import Item
from tamis_schemas.answers.penalties import after_quotes
from tamis_schemas.answers.results import Difference, Quote, QuoteState
from tamis_schemas.records.item import shown_fields

from .folded_text import FoldedText
from .not_present import NOT_PRESENT
from .one_line import shown_value
from .quote_alignment import WordDifference, aligned, extended, leaves_out
from .quote_tokens import NEGATING, Tokens

SIMILAR = 0.7  # a quote of this similarity to a passage is altered, not invented
SHARED = 0.5  # and where this share of its tokens stands in the passage

SHORT = 20  # characters: a shorter quote must stand there word for word, as whole words
BROKEN_OFF = 100  # characters: a quote as long as that may end within a word, where an endpoint cut it
FEW = 2  # tokens with content: with fewer, function words must agree as well
MARGIN = 60  # characters on both sides of the most similar passage that may belong to it
OMITTED = 6  # words: an ellipsis for no more than these must not leave out a negation
OMITTED_CHARACTERS = 120  # in which so many words stand at most
SEARCHED = 2_000_000  # characters of a record; more than any model reads
TOKENISED = 200_000  # characters of a field that are looked at token by token
LONGEST = 10_000  # characters of a quote that is; a longer one must stand there word for word
COMPARED = 50_000_000  # characters of quotes times characters of fields, for one answer; under 0.15 s
TRIED = 1_000  # places of a quote in a field that are looked at for one with whole words

# What models write for "no quote". Where the record itself says it, it is a quote.
NOTHING = NOT_PRESENT | {"nothing", "not given", "unclear", "no mention", "no quote", "no evidence"}

_ELLIPSIS = re.compile(r"[\[(]? ?(?:\. ?){3,}[\])]?")
_AROUND = " '.,;:-[](){}<>"  # stripped from both ends
_SIGN = re.compile(r"(?:[<>]=? ?)?-?[.\u00b7]?\Z")  # before the first digit of a quote; `endpos` is its \Z
_IN_NUMBER = ".,\u00b7-"
_INSIDE_BEFORE = re.compile(r"\d[.,\u00b7]\Z|(?<![^\s(\[{=<>:;,~])-\Z")  # a decimal point, a minus
_NEGATING = re.compile(rf"\b(?:{'|'.join(NEGATING)})-\Z")
_FIRST_UNSPACED_SCRIPT = "\u2e80"  # from here on, scripts mostly write words without spaces between them


class _Field:
    def __init__(self, name: str, text: str, *, has_places: bool) -> None:
        self.name = name
        self.text = text
        self.has_places = has_places  # a text; a list or an object is searched as it is shown
        self.folded_text = FoldedText(text)
        self.folded = self.folded_text.folded
        self.prefix = _prefix(name)

    @cached_property
    def tokens(self) -> Tokens:
        return Tokens(self.folded[:TOKENISED])

    def words(self, start: int, end: int) -> str:
        """The field's own characters for a part of its folded text."""
        if start == end:
            return ""
        place = self.folded_text.place(start, end)
        return self.text[place.start : place.end]


@lru_cache(maxsize=1_000)
def _prefix(name: str) -> str:
    """A field's name as it may stand before a quote from it."""
    return FoldedText(name).folded.strip() + ":"


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of a quote: its characters in the folded quote, and what they are."""

    start: int
    words: str

    @property
    def end(self) -> int:
        return self.start + len(self.words)


@dataclass(frozen=True, slots=True)
class _Match:
    """The passage that says what a quote says, or nearly so: characters of a folded field, and of the folded quote."""

    state: QuoteState = QuoteState.NOT_FOUND
    similarity: float = 0.0
    start: int = 0
    end: int = 0
    differences: tuple[WordDifference, ...] = ()


_NOWHERE = _Match()
_RANK = {QuoteState.NOT_FOUND: 0, QuoteState.ALTERED: 1, QuoteState.FOUND: 2}


class QuotedRecord:
    """One record, in which the quotes of one answer are looked for."""

    def __init__(self, item: Item) -> None:
        self._item = item
        self.left = COMPARED  # characters that may still be compared

    def find(self, text: str) -> Quote | None:
        """The quote, with its place where the record holds it; None where the text is no quote at all.

        No quote are a text without a letter or a digit, and `NOTHING` where the record does not say so itself.
        """
        folded = FoldedText(text)
        whole = _core(folded.folded, 0, len(folded.folded))
        if not any(character.isalnum() for character in whole.words):
            return None
        named = self._without_name(whole)
        for part in (whole,) if named is whole else (whole, named):
            for field in self._fields:
                if part.words and (match := _exact(field.folded, part.words, 0)):
                    return _quote(folded, text, field, match)
        if whole.words in NOTHING:
            return None
        parts = list(_parts(named))
        for field in self._fields:
            if match := _in_tokens(field, parts):
                return _quote(folded, text, field, match)
        best, most = None, _NOWHERE
        for field in self._fields:
            match = self._nearest_in_order(field, parts)
            if best is None or (_RANK[match.state], match.similarity) > (_RANK[most.state], most.similarity):
                best, most = field, match
        if best is None or most.state is QuoteState.NOT_FOUND:
            return Quote(text=text, state=QuoteState.NOT_FOUND, similarity=round(most.similarity, 4))
        return _quote(folded, text, best, most)

    @cached_property
    def _fields(self) -> list[_Field]:
        return list(self._folded())

    def _folded(self) -> Iterator[_Field]:
        left = SEARCHED
        for name, value in shown_fields(self._item).items():
            text = (value if isinstance(value, str) else shown_value(value))[:left]
            left -= len(text)
            if text:
                yield _Field(name, text, has_places=isinstance(value, str))

    def _without_name(self, whole: _Part) -> _Part:
        """The quote without a field's name before it: a model sees `title: ...` as one line."""
        for field in self._fields:
            if len(field.prefix) > 1 and whole.words.startswith(field.prefix):
                return _core(whole.words, len(field.prefix), len(whole.words), whole.start)
        return whole

    def _nearest_in_order(self, field: _Field, parts: Sequence[_Part]) -> _Match:
        matches: list[_Match] = []
        end = 0
        for part in parts:
            match = _same(field, part, end) or self._nearest(field, part, end)
            matches.append(match)
            if match.state is QuoteState.NOT_FOUND:
                return _Match(similarity=min(one.similarity for one in matches))
            end = match.end
        return _joined(field, parts, matches)

    def _nearest(self, field: _Field, part: _Part, begin: int) -> _Match:
        """The most similar passage from a place on; nothing for a short quote, or where all comparing is done."""
        words, rest = part.words, field.folded[begin:] if begin else field.folded
        cost = len(words) * len(rest)
        if len(words) < SHORT or not rest or cost > self.left:
            return _NOWHERE
        self.left -= cost
        if len(rest) < len(words):  # a partial alignment would look for the field in the quote
            similarity, start, end = fuzz.ratio(words, rest) / 100, begin, len(field.folded)
        else:
            place = fuzz.partial_ratio_alignment(words, rest)
            if place is None:
                return _NOWHERE
            similarity, start, end = place.score / 100, begin + place.dest_start, begin + place.dest_end
        if similarity < SIMILAR or len(words) > LONGEST:
            return _Match(similarity=similarity)
        return _compared(field.folded, part, start, end, begin, similarity)


def lowered(confidence: float, quotes: Sequence[Quote]) -> float:
    """The confidence that an answer's quotes leave: `confidence * (1 - 0.5 * missing / given)`.

    From half of the confidence, where none of them is in the record, to all of it, where each one is or none is given.
    """
    return after_quotes(confidence, sum(not quote.found for quote in quotes), len(quotes))


def _exact(folded: str, words: str, begin: int) -> _Match | None:
    start = folded.find(words, begin)
    for _ in range(TRIED):
        if start < 0:
            return None
        end = start + len(words)
        if not _inside(folded, start) and (not _inside(folded, end) or _breaks_off(folded, words, end)):
            return _Match(QuoteState.FOUND, 1.0, start, end)
        start = folded.find(words, start + 1)
    return None


def _inside(folded: str, place: int) -> bool:
    """True where the place parts a word or a number: "men" is not in "treatment", "5 mg" not in "1.5 mg"."""
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
    """True of a long quote that ends within a word, as where an endpoint stopped it at the longest allowed."""
    return len(words) >= BROKEN_OFF and folded[end - 1].isalpha() and folded[end].isalpha()


def _in_tokens(field: _Field, parts: Sequence[_Part]) -> _Match | None:
    """All parts in order in one field, word for word or token by token."""
    matches: list[_Match] = []
    end = 0
    for part in parts:
        match = _same(field, part, end)
        if match is None:
            return None
        matches.append(match)
        end = match.end
    joined = _joined(field, parts, matches)
    return joined if joined.state is QuoteState.FOUND else None


def _same(field: _Field, part: _Part, begin: int) -> _Match | None:
    """The first passage from a place on with the same words or the same tokens."""
    if (match := _exact(field.folded, part.words, begin)) or not SHORT <= len(part.words) <= LONGEST:
        return match
    tokens = Tokens(part.words)
    if len(tokens.content) < FEW:
        return None
    record = field.tokens
    for run in record.find(tokens, begin):
        if not leaves_out(tokens, record, run):
            whole = extended(tokens, record, run)
            start, end = record.spans[whole.start][0], record.spans[whole.stop - 1][1]
            return _Match(QuoteState.FOUND, fuzz.ratio(part.words, field.folded[start:end]) / 100, start, end)
    return None


def _compared(folded: str, part: _Part, start: int, end: int, begin: int, similarity: float) -> _Match:
    """The quote beside the most similar passage, token by token."""
    first, last = max(begin, start - MARGIN), min(len(folded), end + MARGIN)
    while first > begin and _inside(folded, first):
        first -= 1
    while last < len(folded) and _inside(folded, last):
        last += 1
    quote, passage = Tokens(part.words), Tokens(folded[first:last])
    if len(quote.content) < FEW:
        quote, passage = Tokens(part.words, every_word=True), Tokens(folded[first:last], every_word=True)
    found = aligned(quote, passage, may_break_off=len(part.words) >= BROKEN_OFF)
    if found is None or found.shared < SHARED:
        return _Match(similarity=similarity)
    differences = tuple(
        WordDifference(part.start + one.quote_start, part.start + one.quote_end, first + one.start, first + one.end)
        for one in found.differences
    )
    state = QuoteState.ALTERED if differences else QuoteState.FOUND
    return _Match(state, similarity, first + found.start, first + found.end, differences)


def _tightened(field: _Field, parts: Sequence[_Part], matches: Sequence[_Match]) -> list[_Match]:
    """Each part as near to the next one as the same words stand: an ellipsis leaves out as little as it can."""
    tight = list(matches)
    for n in range(len(tight) - 2, -1, -1):
        words, before = parts[n].words, tight[n + 1].start
        start = field.folded.rfind(words, tight[n].end, before)
        if start >= 0 and not _inside(field.folded, start) and not _inside(field.folded, start + len(words)):
            tight[n] = _Match(QuoteState.FOUND, 1.0, start, start + len(words))
    return tight


def _joined(field: _Field, parts: Sequence[_Part], matches: Sequence[_Match]) -> _Match:
    """The parts of one quote as one; where an ellipsis stands for little more than a negation, it is altered."""
    if not matches:
        return _NOWHERE
    matches = _tightened(field, parts, matches)
    differences: list[WordDifference] = list(matches[0].differences)
    for before, after, part in zip(matches, matches[1:], parts, strict=False):
        differences += after.differences
        if after.start - before.end > OMITTED_CHARACTERS:
            continue
        omitted = Tokens(field.folded[before.end : after.start])
        places = range(len(omitted.words))
        if len(places) <= OMITTED and any(omitted.is_negation(place) for place in places):
            left_out = before.end + omitted.spans[0][0], before.end + omitted.spans[-1][1]
            differences.append(WordDifference(part.end, part.end, *left_out))
    differences.sort(key=lambda one: one.quote_start)
    altered = bool(differences) or any(one.state is QuoteState.ALTERED for one in matches)
    return _Match(
        QuoteState.ALTERED if altered else QuoteState.FOUND,
        min(one.similarity for one in matches),
        matches[0].start,
        matches[-1].end,
        tuple(differences),
    )


def _quote(folded: FoldedText, text: str, field: _Field, match: _Match) -> Quote:
    place = field.folded_text.place(match.start, match.end) if field.has_places else None
    return Quote(
        text=text,
        state=match.state,
        similarity=round(match.similarity, 4),
        field=field.name,
        start=None if place is None else place.start,
        end=None if place is None else place.end,
        differences=tuple(_told(folded, text, field, one) for one in match.differences),
    )


def _told(folded: FoldedText, text: str, field: _Field, one: WordDifference) -> Difference:
    if one.quote_start == one.quote_end:
        start = end = folded.place(one.quote_end - 1, one.quote_end).end if one.quote_end else 0
    else:
        place = folded.place(one.quote_start, one.quote_end)
        start, end = place.start, place.end
    return Difference(quoted=text[start:end], recorded=field.words(one.start, one.end), start=start, end=end)


def _parts(named: _Part) -> Iterator[_Part]:
    """The quote's parts between ellipses."""
    start = 0
    for ellipsis in [*_ELLIPSIS.finditer(named.words), None]:
        end = len(named.words) if ellipsis is None else ellipsis.start()
        part = _core(named.words, start, end, named.start)
        if part.words:
            yield part
        start = end if ellipsis is None else ellipsis.end()


def _core(words: str, start: int, end: int, offset: int = 0) -> _Part:
    """A part without the quotation marks, ellipses and other marks around it; a number keeps its sign."""
    core = words[start:end].lstrip(_AROUND)
    begin = end - len(core)
    if core[:1].isdigit() and (sign := _SIGN.search(words, start, begin)):
        begin = sign.start()
    return _Part(offset + begin, words[begin:end].rstrip(_AROUND))
