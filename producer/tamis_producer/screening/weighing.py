"""Weighing: whether one mention rejects the paper in which it stands."""

from collections.abc import Sequence
from functools import cache

from .contexts import SELF_DESCRIPTIONS, STATUS_IN_ABSTRACT, STATUS_IN_TITLE, THIS, TYPE_IN_TITLE, Contexts, window
from .evidence import Evidence, names_design
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

    def rejects_by_title(self, title: bytes, mention: Mention, says: Evidence) -> bool:
        """Whether a mention in the title rejects."""
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
                return not says.design_in_title
            case Weight.TYPE:
                return not says.design_in_title or _own(TYPE_IN_TITLE).hold(around)
            case Weight.STATUS:
                return _own(STATUS_IN_TITLE).hold(around)
            case Weight.ASKED_FOR | Weight.PLAN | Weight.NOTICE:
                return True

    def rejects_by_abstract(self, abstract: bytes, mention: Mention, says: Evidence) -> bool:
        """Whether a mention in the abstract rejects."""
        around = window(abstract, mention)
        if self._protected(around, mention):
            return False
        match mention.meaning.weight:
            case Weight.ASKED_FOR:
                return True
            case Weight.SUBJECT:
                return not says.people
            case Weight.HINT | Weight.WEAK_HINT:
                return says.animals and not says.people
            case Weight.DESIGN:  # "a cross-sectional, retrospective case series of 411 patients" is more than one
                return not says.design_in_title and not names_design(around) and _own(SELF_DESCRIPTIONS).hold(around)
            case Weight.TYPE:
                return not says.design_in_title and _own(SELF_DESCRIPTIONS).hold(around)
            case Weight.PLAN:
                return _own(SELF_DESCRIPTIONS).hold(around)
            case Weight.NOTICE:
                return _own(THIS).hold(around)
            case Weight.STATUS:
                return _own(STATUS_IN_ABSTRACT).hold(around)

    def _protected(self, around: bytes, mention: Mention) -> bool:
        return self._protective.hold(around) or _own(mention.meaning.idioms).hold(around)
