"""The words around a quote, or omitted by its ellipsis, that turn its meaning."""

import re

from .folded_text import FoldedText
from .quote_tokens import NEGATIONS

REACH = 60  # characters before a quote that may have a negation, and the words between the two
SENTENCE = 2_000  # longest sentence whose end is searched

# Not "with or without", "not only", "no. 5". In the folded text, which has no capital letters. `\b` first, for speed.
_NEGATION = (
    rf"\b(?<!-)(?<!\bor )(?:{'|'.join(sorted(NEGATIONS))}|cannot"
    r"|(?:are|ca|could|did|do|does|had|has|have|is|should|was|were|wo|would)n't|hardly|barely|rarely|seldom"
    r"|(?:fail(?:s|ed|ures?|ing)?|unable|inability) to|(?:lack|absence|devoid) of)(?![\w.-]| only\b)"
)
# Words between a negation and what it negates: "no significant", "has not been", "no evidence of"
_BETWEEN = r" (?:an?|any|the|of|to|be|been|being|have|evidence (?:of|for|that)|[a-z]+(?:ly|ant|al|ive|ous|ic|[ai]ble))"
_WITHOUT = r"\b(?:lack(?:s|ed|ing)|free (?:of|from)|(?:rather|other) than|instead of)(?!\w)"
_BEHIND = re.compile(rf"(?=[abcdfhilnorsuw])({_NEGATION}|{_WITHOUT})(?:{_BETWEEN}){{0,3}}[ '(\[]*\Z")
_LEADING = re.compile(r"(?:(?:to|of|an?|any|the|be|been) )*")  # the quote's own words between the two
# Behind a comma, a negation has a clause of its own, but not in "improved, but not significantly".
_AHEAD = re.compile(
    rf"['\])]*(?:,(?: \w+)? (?=not [a-z]+ly\b)| (?:(?:but|though|although|albeit) (?=not\b))?)(?!nor\b)({_NEGATION})"
)
_CLAUSE_ENDS = (*".,;:?!", "")
# The last words and endings of what `_BEHIND` matches, and words before `_LEADING`: seldom there, and fast to look up
_LAST_WORDS = NEGATIONS.union(
    ("cannot", "seldom", "fail", "fails", "failed", "failing", "failure", "failures", "unable", "inability"),
    ("lack", "lacks", "lacked", "lacking", "absence", "devoid", "free", "rather", "other", "instead", "than", "from"),
    ("a", "an", "any", "the", "of", "to", "be", "been", "being", "have", "evidence", "for", "that"),
)
_LAST_ENDINGS = ("ly", "ant", "al", "ive", "ous", "ic", "able", "ible", "n't")
_NEGATED = re.compile(_NEGATION)
_ENDING = r"(?<=[\w%)\]'][\w%)\]'])[.?!]['\])]* "
_SENTENCE_END = re.compile(_ENDING)
_SENTENCE_START = re.compile(rf"{_ENDING}(?:[a-z /&]{{3,40}}: ?)?['(\[]*\Z")  # perhaps behind a heading: "results:"


def negation_behind(folded: str, start: int) -> tuple[int, int] | None:
    """Return the place of the negation just before a quote that begins at `start`; None if there is none."""
    if folded[start - 2 : start - 1] in _CLAUSE_ENDS:  # also at the beginning of the text
        return None
    last = folded[folded.rfind(" ", 0, start - 1) + 1 : start - 1].lstrip("'([")
    if folded[start - 1] == " " and last not in _LAST_WORDS and not last.endswith(_LAST_ENDINGS):
        return None
    leading = _LEADING.match(folded, start)
    negation = _BEHIND.search(folded, max(0, start - REACH), leading.end() if leading else start)
    return (negation.start(1), min(negation.end(1), start - 1)) if negation and negation.start(1) < start else None


def negation_ahead(folded: str, end: int) -> tuple[int, int] | None:
    """Return the place of the negation just after a quote that ends at `end`; None if there is none."""
    negation = _AHEAD.match(folded, end)
    return negation.span(1) if negation else None


def turns(text: str, folded_text: FoldedText, start: int, end: int) -> bool:
    """Return whether an ellipsis for `folded[start:end]` splices two sentences or hides a negation.

    It may omit the rest of a sentence without a negation, and whole sentences.
    """
    folded = folded_text.folded

    def is_small(place: int) -> bool:
        return text[folded_text.place(place, place + 1).start].islower()

    stops = (place for place in _SENTENCE_END.finditer(folded, start, min(end, start + SENTENCE)))
    first = next((place.start() for place in stops if not is_small(place.end())), end)
    if first < end and (is_small(end) or not _SENTENCE_START.search(folded, max(start, end - REACH), end)):
        return True
    return _NEGATED.search(folded, start, first) is not None
