"""The initial filter (tier 1): which papers need no model to be rejected.

Source: spec 3, "InitialFilter". The rules in their order: date range, minimum content, definitive title patterns,
keywords in the title, keywords in the abstract. The first that rejects decides.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from tamis_schemas import Exclusion, InvalidParameters, SearchCriteria
from tamis_schemas.answers.filter_result import BatchFilterResult, FilterResult, FilterRule, RejectedPaper
from tamis_schemas.records.paper import PaperData

from . import patterns
from .abstract import is_placeholder
from .evidence import PaperEvidence
from .inclusions import switched_off
from .keywords import Keyword, Keywords, Mention
from .rules import ASKED_FOR, MEANINGS, NOUNS
from .soft_hyphens import place_in_original, without_soft_hyphens
from .title import TitlePatterns, without_notes
from .weighing import Weighing
from .years import years_of

Paper = PaperData | Mapping[str, Any]  # a record is read as `PaperData.of` reads it

PASSED = "passed"
REJECTED = "rejected"
SWITCHED_OFF = "switched_off"  # the kinds of message that a callback gets


class InitialFilter:
    """Rejects papers by their years, titles and abstracts, under one review's criteria.

    `custom_exclusion_keywords` and the criteria's `custom_keywords` are looked for besides the default ones.
    `callback(kind, message)` hears `switched_off` for each rule that does not apply, when the filter is made, then
    `passed` or `rejected` for each paper. The lists of `patterns` are read once, when the filter is made.

    A missing, short or placeholder abstract never rejects, nor does an unknown year.

    Raises `InvalidParameters`: a keyword or pattern that cannot be looked for, naming its list, its place in it from 0,
    and what is wrong.
    """

    def __init__(
        self,
        criteria: SearchCriteria,
        custom_exclusion_keywords: Sequence[str] | None = None,
        callback: Callable[[str, str], None] | None = None,
    ) -> None:
        if isinstance(custom_exclusion_keywords, str):
            raise InvalidParameters("custom_exclusion_keywords: a list of keywords, not one text")
        self._date_range = criteria.date_range
        self._callback = callback
        self._off = switched_off(criteria)
        self._title_patterns = TitlePatterns(patterns.DEFINITIVE_TITLE_PATTERNS, "DEFINITIVE_TITLE_PATTERNS")
        self._keywords = Keywords(_keywords(criteria, custom_exclusion_keywords or ()))
        self._weighing = Weighing(patterns.NEGATIVE_CONTEXT_PATTERNS, "NEGATIVE_CONTEXT_PATTERNS")
        if callback is not None:
            for rule, why in self._off.items():
                callback(SWITCHED_OFF, f"{rule.value}: {why}")

    @property
    def switched_off(self) -> dict[str, str]:
        """The rules that do not apply under these criteria, each with a sentence that says why."""
        return {rule.value: why for rule, why in self._off.items()}

    def filter_paper(self, paper: Paper) -> FilterResult:
        """Return whether the paper passes, and what decided."""
        return self._told(_paper(paper))

    def exclusion(self, paper: Paper) -> Exclusion | None:
        """Return the ledger's exclusion of a rejected paper; None for a paper that passes."""
        return self.filter_paper(paper).exclusion()

    def filter_batch(
        self, papers: Iterable[Paper], progress_callback: Callable[[int, int], None] | None = None
    ) -> BatchFilterResult:
        """Every paper in its order, passed or rejected. `progress_callback(current, total)` hears of each of them."""
        listed = list(papers)
        passed: list[PaperData] = []
        rejected: list[RejectedPaper] = []
        for current, one in enumerate(listed, 1):
            paper = _paper(one)
            result = self._told(paper)
            if result.passed:
                passed.append(paper)
            else:
                rejected.append(RejectedPaper(paper=paper, result=result))
            if progress_callback is not None:
                progress_callback(current, len(listed))
        return BatchFilterResult(passed=passed, rejected=rejected)

    def _told(self, paper: PaperData) -> FilterResult:
        result = self._by_year(paper) or _by_content(paper) or self._by_words(paper)
        if self._callback is not None:
            self._callback(PASSED if result.passed else REJECTED, f"{paper.item_id}: {result.reason}")
        return result

    def _by_year(self, paper: PaperData) -> FilterResult | None:
        if self._date_range is None:
            return None
        first, last = self._date_range
        years = years_of(paper)
        if not years or any(first <= year.value <= last for year in years):
            return None
        year = years[0]
        return FilterResult(
            passed=False,
            reason=f"published in {year.value}, outside {first} to {last}",
            rule=FilterRule.DATE_RANGE,
            matched=str(year.value),
            field=year.field,
            start=year.start,
            end=year.end,
        )

    def _by_words(self, paper: PaperData) -> FilterResult:
        title = without_notes(without_soft_hyphens(paper.title))
        abstract = without_soft_hyphens(paper.abstract or "").encode("utf-8")
        by_pattern = list(self._applying(self._title_patterns.mentions(title)))
        if not by_pattern and not self._keywords.may_occur(b"%b\n%b" % (title, abstract)):  # so it is for most papers
            return _NOTHING_FOUND
        says = PaperEvidence(title, abstract)
        spared: str | None = None

        for mention in by_pattern:
            if self._weighing.rejects_by_title(title, mention, says):
                return _rejected(paper.title, "title", mention, patterns.DEFINITIVE_CONFIDENCE)
            spared = spared or _spared(title, "title", mention)
        for mention in self._applying(self._keywords.mentions(title)):
            if self._weighing.rejects_by_title(title, mention, says):
                return _rejected(paper.title, "title", mention, patterns.TITLE_CONFIDENCE)
            spared = spared or _spared(title, "title", mention)
        for mention in self._applying(self._keywords.mentions(abstract)):
            if self._weighing.rejects_by_abstract(abstract, mention, says):
                return _rejected(paper.abstract or "", "abstract", mention, patterns.ABSTRACT_CONFIDENCE)
            spared = spared or _spared(abstract, "abstract", mention)
        return _NOTHING_FOUND if spared is None else FilterResult(passed=True, reason=spared)

    def _applying(self, mentions: Iterator[Mention]) -> Iterator[Mention]:
        return (mention for mention in mentions if mention.meaning.rule not in self._off)


_NOTHING_FOUND = FilterResult(passed=True, reason="no rule rejects it")


def _paper(paper: object) -> PaperData:
    if isinstance(paper, PaperData):
        return paper
    if isinstance(paper, Mapping):
        return PaperData.of(paper)
    raise InvalidParameters(f"a paper is a PaperData or a record (a dict), not a {type(paper).__name__}")


def _keywords(criteria: SearchCriteria, custom: Sequence[str]) -> Iterator[Keyword]:
    """The caller's own first: they reject wherever they stand, whatever the default one of the same words would do."""
    for at, text in enumerate(custom):
        yield Keyword(text, ASKED_FOR, f"custom_exclusion_keywords[{at}]")
    for at, text in enumerate(criteria.custom_keywords):
        yield Keyword(text, ASKED_FOR, f"custom_keywords[{at}]")
    for at, text in enumerate(patterns.DEFAULT_EXCLUSION_KEYWORDS):
        meaning = MEANINGS.get(text, ASKED_FOR) if isinstance(text, str) else ASKED_FOR
        yield Keyword(text, meaning, f"DEFAULT_EXCLUSION_KEYWORDS[{at}]")


def _by_content(paper: PaperData) -> FilterResult | None:
    """Rejects what nobody could screen: no title, no abstract to speak of, no DOI or PubMed id to look it up by."""
    if not paper.title or paper.title.isspace():
        abstract = paper.abstract or ""
        short = len(abstract.strip()) < patterns.MIN_ABSTRACT_LENGTH or is_placeholder(abstract)
        if short and not paper.doi and not paper.pmid:
            return FilterResult(
                passed=False,
                reason="no title, no abstract to speak of, and no DOI or PubMed id to look it up by",
                rule=FilterRule.MINIMUM_CONTENT,
            )
    return None


def _rejected(text: str, field: str, mention: Mention, confidence: float) -> FilterResult:
    raw = without_soft_hyphens(text).encode("utf-8")
    start = len(raw[: mention.start].decode("utf-8"))
    place = place_in_original(text, start, start + len(raw[mention.start : mention.end].decode("utf-8")))
    rule = mention.meaning.rule
    matched = text[place]
    what = f": {NOUNS[rule]} are kept out" if rule in NOUNS else ""
    return FilterResult(
        passed=False,
        reason=f"{matched!r} in the {field}{what}",
        confidence=confidence,
        rule=rule,
        matched=matched,
        field=field,
        start=place.start,
        end=place.stop,
    )


def _spared(text: bytes, field: str, mention: Mention) -> str:
    matched = text[mention.start : mention.end].decode("utf-8")
    return f"no rule rejects it: {matched!r} in the {field} does not say that the paper itself is such"
