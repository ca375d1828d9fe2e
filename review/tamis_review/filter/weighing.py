"""Weighing: whether one mention rejects the paper in which it stands."""

from collections.abc import Sequence
from functools import cache

from .contexts import (
    A_REVIEW,
    OWN_ANIMALS,
    OWN_WORK,
    SELF_DESCRIPTIONS,
    STATUS_IN_ABSTRACT,
    STATUS_IN_TITLE,
    THIS,
    TYPE_IN_TITLE,
    Contexts,
    window,
)
from .evidence import PaperEvidence, names_animals, names_design, names_people
from .keywords import Mention
from .rules import Weight


@cache
def _own(templates: tuple[str, ...]) -> Contexts:
    return Contexts(templates)


class Weighing:
    """Weighs mentions under the contexts that protect one."""

    def __init__(self, protective: Sequence[object], place: str) -> None:
        """Raises `InvalidParameters` naming the context that is none."""
        self._protective = Contexts(protective, place)

    def rejects_by_title(self, title: bytes, mention: Mention, says: PaperEvidence) -> bool:
        """Return whether a mention in the title rejects."""
        around = window(title, mention)
        if self._protected(around, mention):
            return False
        match mention.meaning.weight:
            case Weight.SUBJECT:
                return not says.people_in_title
            case Weight.HINT:
                return not says.people
            case Weight.WEAK_HINT:
                return says.animals and not says.people
            case Weight.DESIGN:
                return not (says.design_in_title or says.is_review)
            case Weight.SERIES:
                return not (says.design_in_title or says.is_review or says.large_series)
            case Weight.TYPE:
                return not (says.design_in_title or says.is_review) or _own(TYPE_IN_TITLE).hold(around)
            case Weight.STATUS:
                return _own(STATUS_IN_TITLE).hold(around)
            case Weight.ASKED_FOR | Weight.PLAN | Weight.NOTICE:
                return True

    def rejects_by_abstract(self, abstract: bytes, mention: Mention, says: PaperEvidence) -> bool:
        """Return whether a mention in the abstract rejects."""
        around = window(abstract, mention)
        return (
            not self._protected(around, mention)
            and _says_it_of_the_paper(around, mention, says)
            and not says.exclusions.cover(mention.start)
        )

    def _protected(self, around: bytes, mention: Mention) -> bool:
        return self._protective.hold(around) or _own(mention.meaning.idioms).hold(around)


def _says_it_of_the_paper(around: bytes, mention: Mention, says: PaperEvidence) -> bool:
    """Return whether an abstract's sentence says of its paper that it is such."""
    match mention.meaning.weight:
        case Weight.ASKED_FOR:
            return True
        case Weight.SUBJECT:
            return not says.people or _is_own_work(OWN_WORK, around, says)
        case Weight.HINT:
            return (says.animals and not says.people) or _is_own_work(OWN_ANIMALS, around, says)
        case Weight.WEAK_HINT:
            own = names_animals(around) and _is_own_work(OWN_WORK, around, says)
            return (says.animals and not says.people) or own
        case Weight.DESIGN:
            return _is_own_design(around, says)
        case Weight.SERIES:
            return _is_own_design(around, says) and not says.large_series
        case Weight.TYPE:
            return not (says.design_in_title or says.is_review) and _own(SELF_DESCRIPTIONS).hold(around)
        case Weight.PLAN:
            return _own(SELF_DESCRIPTIONS).hold(around)
        case Weight.NOTICE:
            return _own(THIS).hold(around)
        case Weight.STATUS:
            return _own(STATUS_IN_ABSTRACT).hold(around)


def _is_own_work(contexts: tuple[str, ...], around: bytes, says: PaperEvidence) -> bool:
    """Return whether the sentence is about the paper's own work, and neither of them studies people besides."""
    if says.people_in_title or says.design_in_title or says.people_studied:
        return False
    return not names_people(around) and _own(contexts).hold(around) and not _own(A_REVIEW).hold(around)


def _is_own_design(around: bytes, says: PaperEvidence) -> bool:
    if says.design_in_title or says.is_review:
        return False
    # "a cross-sectional, retrospective case series of 411 patients" is more than one
    return not names_design(around) and _own(SELF_DESCRIPTIONS).hold(around)
