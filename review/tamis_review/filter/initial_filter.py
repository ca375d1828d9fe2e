"""The initial filter (tier 1), which rejects papers before a model is asked.

The rules run in this order: date range, minimum content, definitive title patterns, keywords in the title, keywords in
the abstract. The first rejection decides. Source: the specification of `InitialFilter`.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import islice
from typing import Any

from tamis_schemas import Exclusion, InvalidParameters, SearchCriteria
from tamis_schemas.answers.filter_result import BatchFilterResult, FilterResult, FilterRule, RejectedPaper
from tamis_schemas.records.paper import PaperData

from ..intake.columns import is_no_abstract
from . import compiled, contexts, patterns
from .evidence import PaperEvidence, names_animals, names_design, names_people
from .inclusions import switched_off
from .keywords import MOST_MENTIONS, Keyword, Keywords, Mention
from .rules import ASKED_FOR, MEANINGS, NOUNS, OWN_PATTERN, TITLE_MEANINGS, Weight
from .soft_hyphens import place_in_original, without_soft_hyphens

_own = cache(contexts.Contexts)


def _says_it_of_the_paper(around: bytes, mention: Mention, says: PaperEvidence) -> bool:
    """Return whether a sentence of an abstract applies a keyword, such as "case report", to the paper itself.

    `around`: the sentence. `mention`: the keyword in it. `says`: what the paper says about people, animals and design.
    """
    match mention.meaning.weight:
        case Weight.ASKED_FOR:
            return True
        case Weight.SUBJECT | Weight.SPECIES:
            return not (says.people or says.noted_as_review) or _is_own_work(contexts.OWN_WORK, around, says)
        case Weight.HINT:
            return (says.animals and not says.people) or _is_own_work(contexts.OWN_ANIMALS, around, says)
        case Weight.WEAK_HINT:
            own_animals = names_animals(around) and _is_own_work(contexts.OWN_WORK, around, says)
            return (says.animals and not says.people) or own_animals
        case Weight.DESIGN:
            return _is_own_design(around, says)
        case Weight.SERIES:
            return _is_own_design(around, says) and not says.large_series
        case Weight.TYPE:
            return not (says.design_in_title or says.is_review) and _own(contexts.SELF_DESCRIPTIONS).hold(around)
        case Weight.PLAN:
            return _own(contexts.SELF_DESCRIPTIONS).hold(around)
        case Weight.NOTICE:
            return _own(contexts.THIS).hold(around)
        case Weight.STATUS:
            return _own(contexts.STATUS_IN_ABSTRACT).hold(around)


def _is_own_work(templates: tuple[str, ...], around: bytes, says: PaperEvidence) -> bool:
    """Return whether the sentence `around` is about the paper's own work, and neither sentence nor paper is on people.

    `templates`: contexts that describe own work. `says`: the paper's evidence, such as people in its title.
    """
    of_people = says.people_in_title or says.design_in_title or says.people_studied or names_people(around)
    return not of_people and _own(templates).hold(around) and not _own(contexts.A_REVIEW).hold(around)


def _is_own_design(around: bytes, says: PaperEvidence) -> bool:
    # "a cross-sectional, retrospective case series of 411 patients" is more than one
    of_another = says.design_in_title or says.is_review or names_design(around)
    return not of_another and _own(contexts.SELF_DESCRIPTIONS).hold(around)


_NOTE = compiled.compile_trusted(
    r"\[[^\[\]]{0,20}\b(?:errat(?:um|a)|corrigend(?:um|a)|corrected|corrections?|see comments?|comments? (?:in|on)|"
    r"comment|(?:corrected and )?republished|appears in|published in|author'?s? (?:reply|transl)|letter; comment|"
    r"discussion)[^\[\]]{0,400}\]"
)
_AFTER_LABEL = b" \t\r\n:"  # not part of a mention: in "Case report: a fall", the mention is "Case report"
_OPENING = " \t\r\n\u00a0\"'\u201c\u2018\u00ab"
_CLOSING = " \t\r\n.\"'\u201d\u2019\u00bb"


def without_notes(title: str) -> bytes:
    """Return the title in UTF-8, with spaces in the place of databases' bracketed notes, such as "[see comment]".

    Brackets at the beginning are not a note: databases put a translated title in brackets.
    """
    text = title.encode("utf-8", "replace")
    if b"[" not in text:
        return text
    parts: list[bytes] = []
    done = 0
    for note in islice(_NOTE.finditer(text), MOST_MENTIONS):
        start, end = note.span()
        if text[:start].strip():
            parts += (text[done:start], b" " * (end - start))
            done = end
    return b"".join((*parts, text[done:]))


class TitlePatterns:
    """Regular expressions for titles. A match may reject the paper.

    `place`: the name of the list, for messages. Raises `InvalidParameters` with list and index of an invalid pattern.
    """

    def __init__(self, patterns: Sequence[object], place: str) -> None:
        self._alone = [compiled.compile_untrusted(pattern, f"{place}[{at}]") for at, pattern in enumerate(patterns)]
        texts = [str(pattern) for pattern in patterns]
        self._meanings = [TITLE_MEANINGS.get(text, OWN_PATTERN) for text in texts]
        self._any = compiled.finder("|".join(f"(?:{text})" for text in texts)) if texts else None

    def mentions(self, title: bytes) -> Iterator[Mention]:
        """Yield the matches in a title, pattern by pattern.

        Patterns with `^` and `$` match without the spaces, quotation marks and full stop around the title.
        """
        core, offset = _core(title)
        if self._any is None or not self._any(core):
            return
        for alone, meaning in zip(self._alone, self._meanings, strict=True):
            for match in islice(alone.finditer(core), MOST_MENTIONS):
                start, end = match.span()
                end = start + len(core[start:end].rstrip(_AFTER_LABEL))
                if start < end:
                    yield Mention(offset + start, offset + end, meaning)


def _core(title: bytes) -> tuple[bytes, int]:
    """Return the title without surrounding spaces and quotation marks, and the number of bytes removed before it."""
    core = title.decode("utf-8").lstrip(_OPENING)
    ended = core.rstrip(_CLOSING)
    if ended.startswith("[") and ended.find("]") == len(ended) - 1:  # a translated title
        core, ended = core[1:], ended[:-1].rstrip(_CLOSING)
        ended = ended[1:]
    return ended.encode("utf-8"), len(title) - len(core.encode("utf-8"))


PLAUSIBLE = range(1500, 2200)  # years of publication; any other number counts as an unknown year
_YEAR = re.compile(r"(?<!\d)(?:1[5-9]|2[01])\d\d(?!\d)")
_LONGEST_DATE = 100  # characters


def years_of(paper: PaperData) -> Iterator[tuple[int, str, int, int]]:
    """Yield every year in the paper's `year` and `publication_date`: year, field, start and end in the field's text."""
    if paper.year is not None and paper.year in PLAUSIBLE:
        yield paper.year, "year", 0, len(str(paper.year))
    for match in _YEAR.finditer((paper.publication_date or "")[:_LONGEST_DATE]):
        yield int(match[0]), "publication_date", *match.span()


Paper = PaperData | Mapping[str, Any]  # a mapping is read by `PaperData.of`

PASSED = "passed"
REJECTED = "rejected"
SWITCHED_OFF = "switched_off"  # the kinds of message for a callback


class InitialFilter:
    """A filter of papers by years, titles and abstracts, under one review's criteria.

    The filter looks for `custom_exclusion_keywords`, the criteria's `custom_keywords` and the default keywords. An
    unknown year never rejects a paper. A missing, short or placeholder abstract rejects only a paper without title, DOI
    and PubMed id. The lists of `patterns` are read once, at construction.

    The filter calls `callback(kind, message)` at construction for each rule that does not apply (`switched_off`), and
    later for each paper (`passed` or `rejected`).

    Raises `InvalidParameters` if a keyword or pattern is invalid. The message names its list, its index from 0, and the
    fault.
    """

    def __init__(
        self,
        criteria: SearchCriteria,
        custom_exclusion_keywords: Sequence[str] | None = None,
        callback: Callable[[str, str], None] | None = None,
    ) -> None:
        if isinstance(custom_exclusion_keywords, str):
            raise InvalidParameters("custom_exclusion_keywords: must be a list of keywords, not a text")
        self._date_range = criteria.date_range
        self._callback = callback
        self._off = switched_off(criteria)
        self._title_patterns = TitlePatterns(patterns.DEFINITIVE_TITLE_PATTERNS, "DEFINITIVE_TITLE_PATTERNS")
        self._keywords = Keywords(_keywords(criteria, custom_exclusion_keywords or ()))
        self._protective = contexts.Contexts(patterns.NEGATIVE_CONTEXT_PATTERNS, "NEGATIVE_CONTEXT_PATTERNS")
        if callback is not None:
            for rule, why in self._off.items():
                callback(SWITCHED_OFF, f"{rule.value}: {why}")

    @property
    def switched_off(self) -> dict[str, str]:
        """Return the rules that do not apply under these criteria, each with the reason as a text."""
        return {rule.value: why for rule, why in self._off.items()}

    def filter_paper(self, paper: Paper) -> FilterResult:
        """Return whether the paper passes, and the deciding rule."""
        paper = _paper(paper)
        result = self._by_year(paper) or _by_content(paper) or self._by_words(paper)
        if self._callback is not None:
            self._callback(PASSED if result.passed else REJECTED, f"{paper.item_id}: {result.reason}")
        return result

    def exclusion(self, paper: Paper) -> Exclusion | None:
        """Return the exclusion to store for a rejected paper. Return None for a paper that passes."""
        return self.filter_paper(paper).exclusion()

    def filter_batch(
        self, papers: Iterable[Paper], progress_callback: Callable[[int, int], None] | None = None
    ) -> BatchFilterResult:
        """Filter the papers in order, and return the passed and the rejected papers.

        Calls `progress_callback(current, total)` after each paper; `current` counts from 1.
        """
        listed = list(papers)
        passed: list[PaperData] = []
        rejected: list[RejectedPaper] = []
        for current, record in enumerate(listed, 1):
            paper = _paper(record)
            result = self.filter_paper(paper)
            if result.passed:
                passed.append(paper)
            else:
                rejected.append(RejectedPaper(paper=paper, result=result))
            if progress_callback is not None:
                progress_callback(current, len(listed))
        return BatchFilterResult(passed=passed, rejected=rejected)

    def _by_year(self, paper: PaperData) -> FilterResult | None:
        if self._date_range is None:
            return None
        first, last = self._date_range
        years = list(years_of(paper))
        if not years or any(first <= year <= last for year, *_ in years):
            return None
        year, field, start, end = years[0]
        return FilterResult(
            passed=False,
            reason=f"published in {year}, outside {first} to {last}",
            rule=FilterRule.DATE_RANGE,
            matched=str(year),
            field=field,
            start=start,
            end=end,
        )

    def _by_words(self, paper: PaperData) -> FilterResult:
        title = without_notes(without_soft_hyphens(paper.title))
        abstract = without_soft_hyphens(paper.abstract or "").encode("utf-8")
        by_pattern = list(self._applying(self._title_patterns.mentions(title)))
        if not by_pattern and not self._keywords.may_occur(b"%b\n%b" % (title, abstract)):  # true for most papers
            return _NOTHING_FOUND
        says = PaperEvidence(title, abstract)
        spared: str | None = None
        by_title, by_abstract = self._rejects_by_title, self._rejects_by_abstract
        in_title, in_abstract = (self._applying(self._keywords.mentions(text)) for text in (title, abstract))
        for field, text, mentions, rejects, confidence in (
            ("title", title, by_pattern, by_title, patterns.DEFINITIVE_CONFIDENCE),
            ("title", title, in_title, by_title, patterns.HIGH_CONFIDENCE_THRESHOLD),
            ("abstract", abstract, in_abstract, by_abstract, patterns.MEDIUM_CONFIDENCE_THRESHOLD),
        ):
            for mention in mentions:
                if rejects(text, mention, says):
                    return _rejected(getattr(paper, field), field, mention, confidence)
                matched = text[mention.start : mention.end].decode("utf-8")
                spared = spared or f"no rule rejects it: {matched!r} in the {field} does not describe the paper itself"
        return _NOTHING_FOUND if spared is None else FilterResult(passed=True, reason=spared)

    def _rejects_by_title(self, title: bytes, mention: Mention, says: PaperEvidence) -> bool:
        around = contexts.window(title, mention)
        if self._protected(around, mention):
            return False
        match mention.meaning.weight:
            case Weight.SUBJECT | Weight.SPECIES as weight:
                of_people = says.people_in_title or (weight is Weight.SPECIES and says.people_studied)
                return not (of_people or says.noted_as_review)
            case Weight.HINT:
                return not says.people
            case Weight.WEAK_HINT:
                return not says.people and (says.animals or not _own(contexts.IN_PEOPLE).hold(around))
            case Weight.DESIGN:
                return not (says.design_in_title or says.is_review)
            case Weight.SERIES:
                return not (says.design_in_title or says.is_review or says.large_series)
            case Weight.TYPE:
                of_another = says.design_in_title or says.is_review
                return not (of_another and (says.noted_as_review or not _own(contexts.TYPE_IN_TITLE).hold(around)))
            case Weight.STATUS:
                return _own(contexts.STATUS_IN_TITLE).hold(around)
            case Weight.ASKED_FOR | Weight.PLAN | Weight.NOTICE:
                return True

    def _rejects_by_abstract(self, abstract: bytes, mention: Mention, says: PaperEvidence) -> bool:
        around = contexts.window(abstract, mention)
        return (
            not self._protected(around, mention)
            and _says_it_of_the_paper(around, mention, says)
            and not says.exclusions.cover(mention.start)
        )

    def _protected(self, around: bytes, mention: Mention) -> bool:
        return self._protective.hold(around) or _own(mention.meaning.idioms).hold(around)

    def _applying(self, mentions: Iterator[Mention]) -> Iterator[Mention]:
        return (mention for mention in mentions if mention.meaning.rule not in self._off)


_NOTHING_FOUND = FilterResult(passed=True, reason="no rule rejects it")


def _paper(paper: object) -> PaperData:
    if isinstance(paper, PaperData):
        return paper
    if isinstance(paper, Mapping):
        return PaperData.of(paper)
    raise InvalidParameters(f"a paper must be a PaperData or a record (a dict), not a {type(paper).__name__}")


def _keywords(criteria: SearchCriteria, custom: Sequence[str]) -> Iterator[Keyword]:
    """Yield the caller's keywords, then the default keywords. If two keywords have the same words, the first counts."""
    for name, texts in (("custom_exclusion_keywords", custom), ("custom_keywords", criteria.custom_keywords)):
        for at, text in enumerate(texts):
            yield Keyword(text, ASKED_FOR, f"{name}[{at}]")
    for at, text in enumerate(patterns.DEFAULT_EXCLUSION_KEYWORDS):
        meaning = MEANINGS.get(text, ASKED_FOR) if isinstance(text, str) else ASKED_FOR
        yield Keyword(text, meaning, f"DEFAULT_EXCLUSION_KEYWORDS[{at}]")


def _by_content(paper: PaperData) -> FilterResult | None:
    """Return a rejection if the paper has no title, no usable abstract, no DOI and no PubMed id. Otherwise None."""
    abstract = paper.abstract or ""
    if paper.doi or paper.pmid or paper.title.strip():
        return None
    if len(abstract.strip()) >= patterns.MIN_ABSTRACT_LENGTH and not is_no_abstract(abstract):
        return None
    reason = "no title, no usable abstract, and no DOI or PubMed id"
    return FilterResult(passed=False, reason=reason, rule=FilterRule.MINIMUM_CONTENT)


def _rejected(text: str, field: str, mention: Mention, confidence: float) -> FilterResult:
    raw = without_soft_hyphens(text).encode("utf-8")
    start = len(raw[: mention.start].decode("utf-8"))
    place = place_in_original(text, start, start + len(raw[mention.start : mention.end].decode("utf-8")))
    rule = mention.meaning.rule
    matched = text[place]
    what = f": {NOUNS[rule]} are excluded" if rule in NOUNS else ""
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
