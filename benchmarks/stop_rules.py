"""The points where stop rules would have stopped a team, and the recall there."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from tamis_review.quality.estimates import missed_recall_p

from .reading_curve import ReadingCurve
from .reading_team import CONFIDENCE, DRY, PAGE, RECALL, Read

Rule: TypeAlias = Callable[[Sequence[bool], int], bool]  # decisions so far, records in all: stop?


@dataclass(frozen=True)
class Stop:
    """The point where a rule stopped a team."""

    rule: str
    read: float  # share of the records that were read
    recall: float  # recall at that point
    stopped: bool  # False: everything was read, and the rule never stopped


def _estimator(decisions: Sequence[bool], records: int) -> bool:
    return missed_recall_p(decisions, records, RECALL) < 1 - CONFIDENCE


def _dry(decisions: Sequence[bool], records: int) -> bool:
    return len(decisions) >= DRY and not any(decisions[-DRY:])


ESTIMATOR, DRY_RULE, CERTIFICATE = "estimator", f"{DRY} records without an include", "certificate"
RULES: Mapping[str, Rule] = {DRY_RULE: _dry, ESTIMATOR: _estimator}


def stops(read: Read, labels: Sequence[bool], *, page: int = PAGE) -> list[Stop]:
    """Return where the rules that do not change the order would have stopped. They are checked after each page.

    `read` must have found every include. The order of later records makes no difference.
    """
    decisions = [labels[row] for row in read.order]
    decisions += [False] * (len(labels) - len(decisions))
    return [_stop(name, rule, decisions, read.curve, page) for name, rule in RULES.items()]


def certificate_stop(read: Read) -> Stop:
    """Return where the certificate stopped a team."""
    promised = any(look.promised for _, look in read.looks)
    return Stop(CERTIFICATE, len(read.order) / read.curve.records, read.recall, promised)


def _stop(name: str, rule: Rule, decisions: Sequence[bool], curve: ReadingCurve, page: int) -> Stop:
    at = next((at for at in _pages(len(decisions), page) if rule(decisions[:at], len(decisions))), None)
    read = len(decisions) if at is None else at
    return Stop(name, read / curve.records, curve.recall_after(read), at is not None)


def _pages(records: int, page: int) -> Iterator[int]:
    """Yield the numbers of read records after which rules are checked: the first two records, then each page."""
    yield from range(2, records, page)
