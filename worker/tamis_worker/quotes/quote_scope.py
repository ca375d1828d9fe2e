"""The negations that reverse a quote's meaning. They are just outside the quote, or its ellipsis omits them."""

import re
from functools import lru_cache

from .folded_text import FoldedText
from .quote_tokens import NEGATIONS

REACH = 60  # characters of a word before a quote, or of a heading before a sentence
SENTENCE = 2_000  # longest sentence whose end is searched
MODIFIERS = 4  # words between a negation and what it negates, at most: "no significant", "has not been"

# Not "not only", "no. 5". In the folded text, which has no capital letters.
_NEGATION = (
    rf"\b(?<!-)(?:{'|'.join(sorted(NEGATIONS))}|[a-z]+n't|cannot|hardly|barely|rarely|seldom"
    r"|(?:fail(?:s|ed|ures?|ing)?|unable|inability) to|(?:lack|absence|devoid) of)(?![\w.-]| only\b)"
)
_NEGATED = re.compile(_NEGATION)
_BEHIND = re.compile(rf"['(\[]*({_NEGATION}|lack(?:s|ed|ing)|free (?:of|from)|(?:rather|other) than|instead of)(?!\S)")
# Behind a comma, a negation has a clause of its own, but not in "improved, but not significantly".
_AHEAD = re.compile(
    rf"['\])]*(?:,(?: \w+)? (?=not [a-z]+ly\b)| (?:(?:but|though|although|albeit) (?=not\b))?)(?!nor\b)({_NEGATION})"
)
_MODIFIERS = frozenset(
    ("a", "an", "any", "the", "of", "to", "for", "from", "that", "than", "be", "been", "being", "have", "evidence")
)
_MODIFYING = ("ly", "ant", "al", "ive", "ous", "ic", "able", "ible")
_ENDING = r"(?<=[\w%)\]'][\w%)\]'])[.?!]['\])]* "
_SENTENCE_END = re.compile(_ENDING)
_SENTENCE_START = re.compile(rf"{_ENDING}(?:[a-z /&]{{3,40}}: ?)?['(\[]*\Z")  # perhaps behind a heading: "results:"


def negation_behind(folded: str, start: int) -> tuple[int, int] | None:
    """Return the start and end of the negation just before a quote that begins at `start`; None if there is none."""
    end = start
    for _ in range(MODIFIERS + 1):
        low = end - REACH if end > REACH else 0
        begin = folded.rfind(" ", low, end - 1) + 1 or low
        if not _may_negate(folded[begin:end]):
            return None
        if negation := _BEHIND.match(folded, begin):
            return negation.start(1), min(negation.end(1), start - 1)
        end = begin
    return None


@lru_cache(maxsize=10_000)
def _may_negate(word: str) -> bool:
    """Return whether a word may begin a negation, or be between a negation and what it negates."""
    word = word.rstrip(" '([")
    modifies = word in _MODIFIERS or word.endswith(_MODIFYING)
    return modifies or any(_BEHIND.match(f"{word} {second}") for second in ("of", "from", "than", "to"))


def negation_ahead(folded: str, end: int) -> tuple[int, int] | None:
    """Return the start and end of the negation just after a quote that ends at `end`; None if there is none."""
    negation = _AHEAD.match(folded, end)
    return negation.span(1) if negation else None


def turns(text: str, folded_text: FoldedText, start: int, end: int) -> bool:
    """Return True if an ellipsis that replaces `folded[start:end]` turns a quote's meaning.

    An ellipsis may omit whole sentences, and the rest of a sentence without a negation. So it turns the meaning if it
    ends within a later sentence, or omits a negation in the first sentence.
    """
    folded = folded_text.folded

    def is_small(place: int) -> bool:
        return text[folded_text.place(place, place + 1).start].islower()

    stops = (place for place in _SENTENCE_END.finditer(folded, start, min(end, start + SENTENCE)))
    first = next((place.start() for place in stops if not is_small(place.end())), end)
    if first < end and (is_small(end) or not _SENTENCE_START.search(folded, max(start, end - REACH), end)):
        return True
    return _NEGATED.search(folded, start, first) is not None
