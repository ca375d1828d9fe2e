"""Warnings about criteria that are valid, but probably not intended."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

from tamis_schemas import Criterion, SearchCriteria
from tamis_schemas.extras import needs
from tamis_schemas.operations.criteria import STUDY_TYPE

with needs("files"):
    from rapidfuzz import fuzz

ALIKE = 0.9  # criteria of this similarity are equal, unless their numbers differ
LONG = 300  # characters; a longer criterion probably combines several conditions

_ARTICLES = frozenset({"a", "an", "the"})
_NEGATIONS = frozenset({"no", "not", "non", "without", "exclude", "excludes", "excluded", "excluding"})
# Whether a criterion excludes, its first words, and the doubt about them.
_BEGINNINGS = (
    (False, ("exclude", "excludes", "excluded", "excluding"), "does it belong in exclusion_criteria?"),
    (True, ("include", "includes", "included", "including", "only"), "does it belong in inclusion_criteria?"),
    (True, ("no", "not"), "records that meet it are excluded; is that intended?"),
)


@dataclass(frozen=True)
class _Said:
    """A criterion, and its words without articles and without a negation at the beginning."""

    criterion: Criterion
    words: tuple[str, ...]
    negated: bool

    @classmethod
    def of(cls, criterion: Criterion) -> "_Said":
        words = tuple(word for word in _words(criterion.text) if word not in _ARTICLES)
        negated = bool(words) and words[0] in _NEGATIONS
        return cls(criterion, words[negated:], negated)

    def says_what(self, other: "_Said") -> bool:
        alike = fuzz.ratio(" ".join(self.words), " ".join(other.words)) >= 100 * ALIKE
        return alike and _numbers(self.words) == _numbers(other.words)


def doubts(criteria: SearchCriteria) -> list[str]:
    """Return a sentence for each doubt about the criteria.

    There is a doubt if a criterion contradicts or repeats another, is in the wrong list, or combines several
    conditions. Other doubts are about keywords, examples, and a lack of inclusion criteria.
    """
    statements = [_Said.of(criterion) for criterion in criteria.labelled()]
    sentences = [doubt for statement in statements for doubt in _of_one(statement.criterion)]
    sentences += [_of_two(a, b) for a, b in combinations(statements, 2) if a.says_what(b)]
    sentences += _of_keywords(criteria)
    if len(shown := {example.decision for example in criteria.examples}) == 1:
        sentences.append(f"examples: all are {shown.pop()}d; a model that sees only one decision may copy it")
    if not criteria.inclusion_criteria and not criteria.study_types:
        sentences.append("there is no inclusion criterion: every record that is not excluded is included")
    return sentences


def _of_one(criterion: Criterion) -> Iterator[str]:
    first = next(iter(_words(criterion.text)), "")
    for excludes, words, question in _BEGINNINGS:
        if criterion.excludes is excludes and first in words:
            yield f"{criterion.label} begins with {first!r}: {question}"
    if not criterion.excludes and criterion.exclude_as and _words(criterion.exclude_as) == _words(criterion.text):
        yield f"{criterion.label}: exclude_as repeats the criterion; write why a record that fails it is excluded"
    if len(criterion.text) > LONG and criterion.label != STUDY_TYPE:
        yield (
            f"{criterion.label} has {len(criterion.text)} characters, but gets one verdict: "
            "write each of its conditions as a separate entry"
        )


def _of_two(first: _Said, second: _Said) -> str:
    labels = f"{first.criterion.label} and {second.criterion.label}"
    same_list = first.criterion.excludes is second.criterion.excludes
    if same_list is (first.negated is second.negated):
        return f"{labels} say the same, but each is asked and paid for separately"
    if same_list:
        return f"{labels} contradict each other: one denies the other"
    return f"{labels} contradict each other: no record that meets one of them can be included"


def _of_keywords(criteria: SearchCriteria) -> Iterator[str]:
    wanted = {"research_question": criteria.research_question}
    wanted |= {c.label: c.text for c in criteria.labelled() if not c.excludes}
    for keyword in criteria.custom_keywords:
        words = " ".join(_words(keyword))
        for place, text in wanted.items():
            if words and f" {words} " in f" {' '.join(_words(text))} ":
                yield f"custom_keywords: {keyword!r} occurs in {place}, but the initial filter excludes records with it"


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())


def _numbers(words: tuple[str, ...]) -> list[str]:
    return [word for word in words if any(map(str.isdigit, word))]
