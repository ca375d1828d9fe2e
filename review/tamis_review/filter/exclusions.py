"""Exclusion sentences: a text's enumerations of excluded papers, of any length.

"Animal studies, case reports, ... and abstracts are excluded" covers the text before its verb. "We excluded animal
studies, case reports, ..." covers the text after its verb. Other statements in the sentence are not covered. In "animal
studies were pooled, and reviews, letters, ... were excluded" the covered text begins at "reviews".
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from enum import StrEnum
from itertools import islice

from . import compiled

MOST_VERBS = 5_000  # maximum for one text; later verbs cover nothing

# Words that end the reach of a preceding negation: "no restriction to humans, including animal studies".
BREAK = (
    r"\b(?:not\s+only|not\s+necessarily|whether\s+or\s+not|(?:no|not|without)\s+(?:\w+\s+){0,2}(?:restrict|limit)\w*|"
    r"but|also|includ(?:e|ed|es|ing)|inclusion|eligible|accept\w*|allow\w*|whereas|however)\b"
)

_AUXILIARY = (
    r"\b(?:is|are|was|were|be|been|being|has|have|had|do|does|did|will|would|shall|should|must|may|might|can|could)\s+"
)
_ADVERBS = r"(?:(?:not|never|also|all|both|then|thus|therefore|hence|\w+ly|to|be|been|being)\s+){0,5}"
_OTHER = r"excluded?|omit(?:ted)?|remove(?:d)?|ineligible|reject(?:ed)?|disregard(?:ed)?"


class _Kind(StrEnum):
    """The effect of a word or phrase on a list of excluded papers.

    In the comments, a member is an entry of that list.
    """

    RELATIVE = "relative"  # a clause within a member: "letters that were published"
    EXCLUDES_BEFORE = "excludes before"  # "... are excluded"
    EXCLUDES_AFTER = "excludes after"  # "we excluded ..."
    INCLUDING = "including"  # ends a preceding exclusion, and belongs to a member of a following one
    JOINS = "joins"  # begins another statement: "but", "whereas"
    ENDS = "ends"  # the verb of another statement, or of a negated exclusion; an object may follow


# The kind of a phrase is the first kind whose pattern matches. The compiled alternation has the same order.
_PATTERNS = {
    _Kind.RELATIVE: rf"\b(?:that|which|who|whose|where|when|if)\s+(?:\w+\s+){{0,2}}{_AUXILIARY}"
    rf"(?:{_ADVERBS}(?:{_OTHER})\b)?",
    _Kind.EXCLUDES_BEFORE: rf"{_AUXILIARY}{_ADVERBS}(?:{_OTHER})\b|"
    rf"{_AUXILIARY}{_ADVERBS}not\s+(?:be\s+)?(?:\w+ly\s+)?"
    r"(?:included|eligible|considered|accepted|allowed|analy[sz]ed|of\s+interest)\b|"
    r"\bexcluded\s*[.;)\]]",
    _Kind.EXCLUDES_AFTER: r"\bexclu(?:de|des|ded|ding)\b|"
    r"\bexclusions?\b(?:\s+criteri(?:a|on))?(?:\s+(?:is|are|was|were|includ\w+|compris\w+))?",
    _Kind.INCLUDING: r"\bincluding\b",
    _Kind.JOINS: r"\b(?:but|whereas|however|although|while|unless|because)\b",
    _Kind.ENDS: rf"{BREAK}|{_AUXILIARY}|\b(?:we|they)\b",
}
_ANY = compiled.compile_trusted("|".join(f"(?:{pattern})" for pattern in _PATTERNS.values()))
_IS = {kind: compiled.compile_trusted(rf"^(?:{pattern})$") for kind, pattern in _PATTERNS.items()}
_NEGATED = compiled.compile_trusted(rf"\b(?:not|never)\s+(?:\w+\s+)*(?:{_OTHER})\b")
# After an auxiliary a verb may have an object: "we will exclude ...", "we do not exclude ...".
_TAKES_OBJECT = compiled.compile_trusted(r"\b(?:exclude|omit|remove|reject|disregard)$")
_MEMBER_ENDS = compiled.compile_trusted(r"[,;]|\band\b")
# The beginning of a list with semicolons: "excluded: ...", "exclude the following studies: ...", "excluded (1) ...".
_LIST_BEGINS = compiled.compile_trusted(r"^\s*(?:the\s+following\b[^:;]{0,60})?(?::|\(?[1ai]\))")
_LAST_MEMBER = compiled.compile_trusted(r"^\s*(?:and|or)\b")


class Exclusions:
    """The passages of one text that list excluded papers, such as the list before "... are excluded"."""

    def __init__(self, text: bytes, ends: Sequence[int]) -> None:
        """Find the passages. `ends`: the ends of the text's sentences, in order."""
        stretches = list(_covered(text, ends))  # in the text's order, without nesting
        self._starts = [start for start, _ in stretches]
        self._stops = [stop for _, stop in stretches]

    def cover(self, at: int) -> bool:
        """Return whether the byte at position `at` is in a list of excluded papers."""
        place = bisect_right(self._starts, at) - 1
        return place >= 0 and at < self._stops[place]


def _covered(text: bytes, ends: Sequence[int]) -> Iterator[tuple[int, int]]:
    begin = 0  # start of the text that a following verb may cover
    after_verb = False  # the object of another verb begins here
    verb: int | None = None  # end of a verb that covers the following text
    following = 0  # index in `ends` of the next sentence end

    for match in islice(_ANY.finditer(text + b"."), MOST_VERBS):
        start, stop = match.span()
        while following < len(ends) and ends[following] <= start:
            if verb is not None:
                yield verb, _listed(text, verb, ends[following])
            begin, after_verb, verb = ends[following], False, None
            following += 1
        kind = _kind(text[start:stop])
        if kind is _Kind.RELATIVE or (kind is _Kind.INCLUDING and verb is None):
            continue
        if verb is not None:
            yield verb, _listed(text, verb, start)
        elif kind is _Kind.EXCLUDES_BEFORE:
            yield _first_member(text, begin, start, after_verb=after_verb), start
        begin, after_verb, verb = stop, kind is _Kind.ENDS, stop if kind is _Kind.EXCLUDES_AFTER else None
    if verb is not None:
        yield verb, _listed(text, verb, ends[following] if following < len(ends) else len(text))


def _kind(words: bytes) -> _Kind:
    kind = next(kind for kind, pattern in _IS.items() if pattern.search(words) is not None)
    if kind is _Kind.EXCLUDES_BEFORE:
        if _NEGATED.search(words) is not None:
            return _Kind.ENDS
        if _TAKES_OBJECT.search(words) is not None:
            return _Kind.EXCLUDES_AFTER
    return kind


def _first_member(text: bytes, begin: int, verb: int, *, after_verb: bool) -> int:
    """Return the byte position at which the list before an exclusion verb starts.

    If neither "and" nor "or" follows the last semicolon, the list starts after this semicolon. In all other cases it
    starts at `begin`. `after_verb`: skip the first entry after `begin`, because it belongs to another verb.
    """
    if after_verb:
        member = _MEMBER_ENDS.search(text[begin:verb])
        begin = verb if member is None else begin + member.end()
    return begin if _one_enumeration(text, begin, verb) else text.rfind(b";", begin, verb) + 1


def _listed(text: bytes, verb: int, end: int) -> int:
    """Return the byte position at which the list after an exclusion verb ends: `end`, or the first semicolon.

    The list ends at `end` if it has no semicolon, or if "and" or "or" follows its last semicolon. Words such as "the
    following:" after the verb have the same effect.
    """
    if _one_enumeration(text, verb, end) or _LIST_BEGINS.search(text[verb : verb + 100]) is not None:
        return end
    return text.index(b";", verb, end)


def _one_enumeration(text: bytes, begin: int, end: int) -> bool:
    last = text.rfind(b";", begin, end)
    return last < 0 or _LAST_MEMBER.search(text[last + 1 : min(end, last + 12)]) is not None
