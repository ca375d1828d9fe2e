"""The rules that the criteria switch off, because they would reject papers that the review includes.

Reviewers write the criteria in free text. A mention of animals, case reports, ... in an inclusion criterion, the
question, the purpose or the study types counts as included. A mention in an exclusion criterion counts as excluded. A
negation reverses the meaning ("excluding animal studies", "other than case reports"). A heading such as "Exclusion
criteria:" decides for the text below it. In doubt a mention counts as included, because a wrong rule costs papers.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

from tamis_schemas import SearchCriteria
from tamis_schemas.answers.filter_result import FilterRule
from tamis_schemas.extras import needs

from . import compiled
from .exclusions import BREAK, Exclusions
from .soft_hyphens import without_soft_hyphens

with needs("files"):
    import re2

TERMS: Mapping[FilterRule, str] = {
    FilterRule.ANIMAL: r"animals?|mouse|mice|murine|rats?|rodents?|rabbits?|dogs?|canines?|cats|felines?|pigs?|"
    r"piglets?|porcine|swine|bovine|cattle|cows?|sheep|goats?|horses?|equine|primates?|monkeys?|macaques?|"
    r"marmosets?|baboons?|chimpanzees?|hamsters?|gerbils?|ferrets?|drosophila|lambs?|heifers?|chickens?|broilers?|"
    r"zebrafish|livestock|poultry|in[\s-]+vivo|pre-?clinical|veterinary|non-?human(?:s| primates)?|"
    r"(?:all|any)\s+species|mammals?",
    FilterRule.IN_VITRO: r"in[\s-]+vitro|ex[\s-]+vivo|cell[\s-]+(?:cultures?|lines?|models?|studies)|cultured\s+cells|"
    r"cell-based|pre-?clinical|laborator(?:y|ies)|organoids?|bench",
    FilterRule.CASE_REPORT: r"case[\s-]+(?:reports?|stud(?:y|ies)|descriptions?|histor(?:y|ies))|"
    r"(?:single|individual)[\s-]+(?:patient\s+)?cases?|n-of-1",
    FilterRule.CASE_SERIES: r"case[\s-]+series|series\s+of\s+(?:cases|patients)|consecutive\s+cases",
    FilterRule.PROTOCOL: r"protocols?",
    FilterRule.OPINION: r"editorials?|commentar(?:y|ies)|letters?|correspondence|viewpoints?|"
    r"opinion\s+(?:papers?|pieces?|articles?)",
    FilterRule.CORRECTION: r"errat(?:um|a)|corrigend(?:um|a)|published\s+corrections?",
    FilterRule.RETRACTED: r"retracted|retractions?|withdrawn\s+(?:articles?|papers?|publications?)",
}

_NO_LIMIT = r"no\s+(?:\w+\s+)?(?:restrictions?|limits?|limitations?)\s+(?:\w+\s+){0,4}"
_ANY_DESIGN = (
    r"(?:all|any|every)\s+(?:types?\s+of\s+|kinds?\s+of\s+)?(?:\w+\s+)?(?:stud(?:y|ies)\s+)?(?:designs?|study\s+types?)\b|"
    r"(?:all|any|every)\s+(?:types?|kinds?)\s+of\s+(?:\w+\s+)?stud(?:y|ies)\b|"
    r"(?:regardless|irrespective)\s+of\s+(?:the\s+)?(?:\w+\s+)?(?:design|type)\b|"
    rf"{_NO_LIMIT}(?:designs?|types?)\b"
)
_ANY_TYPE = (
    r"(?:all|any|every)\s+(?:types?\s+of\s+)?(?:publications?|articles?|documents?)(?:\s+types?)?\b|"
    r"(?:regardless|irrespective)\s+of\s+(?:the\s+)?publication\s+(?:type|status)\b|"
    rf"{_NO_LIMIT}(?:publication|article)\s+types?\b"
)
# Words that include the papers of a rule without naming these papers. An exclusion in words has priority.
GENERAL_TERMS: Mapping[FilterRule, str] = {
    FilterRule.CASE_REPORT: f"{_ANY_DESIGN}|{_ANY_TYPE}",
    FilterRule.CASE_SERIES: f"{_ANY_DESIGN}|{_ANY_TYPE}",
    FilterRule.PROTOCOL: _ANY_TYPE,
    FilterRule.OPINION: _ANY_TYPE,
}
# Papers of one kind often mention the other kind. If the criteria include one kind, a rule rejects the other kind only
# if the criteria exclude it in words.
RELATIVES: Mapping[FilterRule, FilterRule] = {
    FilterRule.ANIMAL: FilterRule.IN_VITRO,
    FilterRule.IN_VITRO: FilterRule.ANIMAL,
    FilterRule.CASE_REPORT: FilterRule.CASE_SERIES,
    FilterRule.CASE_SERIES: FilterRule.CASE_REPORT,
}


SHOWN = 80  # characters of a criterion in a reason
MOST_TERMS = 200  # most terms of one rule to read in one criterion
REACH = 400  # bytes of context before and after a term

_GENERAL = {rule: compiled.compile_trusted(rf"\b(?:{terms})") for rule, terms in GENERAL_TERMS.items()}
_TERM = {rule: compiled.compile_trusted(rf"\b(?:{terms})\b") for rule, terms in TERMS.items()}
# A part continues after a line break within a sentence. The next entry of a list is another part.
_PART_END = compiled.compile_trusted(r"[.!?;]+(?:\s|$)|\n\s*(?:[-*\x{2022}\x{b7}]|\(?\w{1,3}[.)]\s|(?-i:[A-Z])|\n)")
_ABBREVIATION = compiled.compile_trusted(r"\b(?:e\.?g|i\.?e|vs|etc|cf|al|incl|excl)$")
_HEADING = compiled.compile_trusted(
    r"\b(?:in|ex)clu(?:sions?|ded?|ding|des)(?:\s+criteria)?(?:\s+(?:are|were))?\s*:|\b(?:in|ex)clusion\s+criteria\b|"
    r"\b(?:in|ex)clud(?:e|es|ed|ing)\s+the\s+following\b[^:.;]{0,60}:"
)
_STRONG = compiled.compile_trusted(
    r"\b(?:except(?:ing|ions?)?|other\s+than|rather\s+than|instead\s+of|apart\s+from|as\s+opposed\s+to)\b"
)
_EXCLUDING = compiled.compile_trusted(r"\b(?:exclu\w+|ineligible|omit\w*|reject\w*|remov\w*)\b")
_WEAK = compiled.compile_trusted(r"\b(?:no|not|non|neither|never|without)\b")
_ENUMERATION = compiled.compile_trusted(r",|\b(?:and|or|nor)\b")
_NO_SUCH = compiled.compile_trusted(r"^\W*no\b")
_WEAK_ENDS = compiled.compile_trusted(r"[(:]|\be\.g\b|\bsuch\s+as\b")
_BREAK = compiled.compile_trusted(BREAK)
_EXCLUDED_AFTER = compiled.compile_trusted(
    r"^[^.;]{0,80}\b(?:excluded|omitted|removed|ineligible|not\s+(?:be\s+)?(?:\w+\s+)?"
    r"(?:included|eligible|considered|accepted|allowed|of\s+interest))\b"
)
_INCLUDED_AFTER = compiled.compile_trusted(
    r"^[^.;]{0,40}\b(?:is|are|were|was|be|also)\s+(?:also\s+)?(?:included|eligible|considered|accepted|allowed|welcome|of\s+interest)\b"
)


@dataclass(frozen=True)
class _Criterion:
    """A text of the criteria. `included`: whether terms such as "animals" count as included without a negation."""

    text: str
    included: bool

    @cached_property
    def words(self) -> bytes:
        """Return the text in UTF-8, without soft hyphens."""
        return without_soft_hyphens(self.text).encode("utf-8", "replace")

    @cached_property
    def exclusions(self) -> Exclusions:
        # A semicolon ends a part, but not a sentence.
        ends = [end.start() + 1 for end in _part_ends(self.words) if not end.group().startswith(b";")]
        return Exclusions(self.words, ends)


@dataclass(frozen=True)
class _Named:
    """A term in the criteria, such as "animals", and whether the criteria include or exclude such papers."""

    term: str
    criterion: str
    included: bool

    @property
    def quoted(self) -> str:
        """Return the term in quotation marks, with its criterion if the criterion has further words."""
        return repr(self.term) if self.term == self.criterion else f"{self.term!r}: {_short(self.criterion)!r}"


def switched_off(criteria: SearchCriteria) -> dict[FilterRule, str]:
    """Return the filter rules that do not apply to this review, each with the reason as a text."""
    texts = _texts(criteria)
    named = {rule: list(_named(texts, term)) for rule, term in _TERM.items()}
    general = {rule: list(_named(texts, term)) for rule, term in _GENERAL.items()}
    included = {rule: _first_included(terms) for rule, terms in named.items()}
    reasons: dict[FilterRule, str] = {}
    for rule, term in included.items():
        # Criteria that include related papers, or all papers, also include these papers unless they mention them.
        near = _first_included(general.get(rule, ())) or included.get(RELATIVES.get(rule, rule))
        if term is not None:
            reasons[rule] = f"the criteria include {term.quoted}"
        elif near is not None and not named[rule]:
            reasons[rule] = f"the criteria do not exclude this, and include {near.quoted}"
    return reasons


def _first_included(terms: Iterable[_Named]) -> _Named | None:
    return next((term for term in terms if term.included), None)


def _texts(criteria: SearchCriteria) -> list[_Criterion]:
    inclusive = [
        *criteria.inclusion_criteria,
        criteria.research_question,
        criteria.purpose or "",
        *criteria.study_types,
    ]
    return [
        *(_Criterion(text, included=True) for text in inclusive),
        *(_Criterion(text, included=False) for text in criteria.exclusion_criteria),
    ]


def _named(criteria: Iterable[_Criterion], term: re2._Regexp) -> Iterator[_Named]:
    for criterion in criteria:
        yield from islice(_terms(criterion, term), MOST_TERMS)


def _terms(criterion: _Criterion, term: re2._Regexp) -> Iterator[_Named]:
    base = criterion.included
    for begins, part in _parts(criterion.words):
        headings = list(_HEADING.finditer(part))
        for match in term.finditer(part):
            start, end = match.span()
            begin = max(0, start - REACH)
            while headings and headings[0].end() <= start:
                heading = headings.pop(0)
                base, begin = _says_include(heading), max(begin, heading.end())
            # Other terms before this one do not affect it, not even "non-human".
            before = term.sub(b" ", part[begin:start])
            words = " ".join(part[start:end].decode("utf-8", "replace").split())
            listed = criterion.exclusions.cover(begins + start)
            yield _Named(words, criterion.text, _counts(before, part[end : end + REACH], base, listed=listed))
        if headings:
            base = _says_include(headings[-1])


def _counts(before: bytes, after: bytes, base: bool, *, listed: bool) -> bool:
    """Return whether the criteria include papers with a term, such as "animals".

    Args:
        before: the text before the term in its part of the criterion.
        after: the text after the term.
        base: the answer if there is no negation.
        listed: whether an exclusion sentence covers the term.
    """
    after_excludes = _EXCLUDED_AFTER.search(after) is not None
    if not after_excludes and _INCLUDED_AFTER.search(after) is not None:
        return True
    clause = before[max((match.end() for match in _BREAK.finditer(before)), default=0) :]
    near = clause[max((match.end() for match in _WEAK_ENDS.finditer(clause)), default=0) :]
    turns = _nearest(_STRONG, clause) + _nearest(_WEAK, near)
    if base:
        turns += (_nearest(_EXCLUDING, clause) + after_excludes) or listed
    elif _NO_SUCH.match(before) is not None:  # "No animal studies", as an exclusion criterion, excludes them
        turns -= 1
    return base if turns % 2 == 0 else not base


def _nearest(negator: re2._Regexp, clause: bytes) -> int:
    """Return how many negations the last negated entry of an enumeration has, or 0 if no entry is negated.

    So "no animals, no cells" counts as a single negation. `clause`: the enumeration.
    """
    members = reversed(_ENUMERATION.split(clause))
    return next((count for member in members if (count := len(negator.findall(member)))), 0)


def _says_include(heading: re2._Match) -> bool:
    return bool(heading.group().lower().startswith(b"in"))


def _parts(text: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the parts of a criterion, such as sentences and list entries: the start in bytes, and the text."""
    begin = 0
    for match in _part_ends(text):
        start, end = match.span()
        yield begin, text[begin:start]
        begin = start + 1 if text[start : start + 1] == b"\n" else end  # a list mark belongs to the next part
    yield begin, text[begin:]


def _part_ends(text: bytes) -> Iterator[re2._Match]:
    for match in _PART_END.finditer(text):
        start = match.start()
        if text[start : start + 1] != b"." or _ABBREVIATION.search(text[max(0, start - 6) : start]) is None:
            yield match


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= SHOWN else f"{line[: SHOWN - 1]}…"
