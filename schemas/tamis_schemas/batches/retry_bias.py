"""Retry bias: whether failed records, and records decided in a later round, differ from the others."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import accumulate
from math import erfc, exp, gamma, sqrt

from ..errors import ErrorKind
from ..values.frozen import Frozen
from ..values.proportion import Proportion, wilson

# Three tests for each round. At the usual 0.05 one round in seven would show something by chance, at 0.01 one in
# thirty-four.
DOUBT = 0.01
ALMOST_NONE = 0.001
LEAST_EXPECTED = 1.0  # Cochran's rule: in every cell
USUAL_EXPECTED, USUAL_SHARE = 5.0, 0.8  # at least so many in this share of the cells


class Trait(StrEnum):
    """The trait by which a round's records are grouped."""

    LENGTH = "length"  # characters of the fields in the prompt
    YEAR = "year"
    NEIGHBOURS = "neighbours"  # whether the decided records before and after it in the batch passed

    @property
    def words(self) -> str:
        """The trait's name, as it follows the word "by" in a heading."""
        return "the decisions on the records before and after" if self is Trait.NEIGHBOURS else self.value


@dataclass(frozen=True, slots=True)
class EndedRecord:
    """One record that ended in a round, with a decision or with an error."""

    characters: int
    year: int | None
    neighbours: int | None  # number of its two neighbours that passed; None: not two, or the operation decides nothing
    failure: ErrorKind | None
    passed: bool | None = None  # None: the item failed, or its operation decides nothing


class Group(Frozen):
    """Some of a round's records, and how many of them failed."""

    label: str  # for example "812 to 1,204 characters"
    records: str  # for a sentence, for example "records of the longest quarter (812 to 1,204 characters)"
    n: int
    failed: int
    rate: float


class Comparison(Frozen):
    """The records of a round, grouped by one trait, with a test whether failures depend on the group."""

    trait: Trait
    groups: tuple[Group, ...]
    statistic: float | None  # Pearson's chi-square; None: too few records
    degrees: int
    p: float | None
    sentence: str

    @property
    def tested(self) -> str:
        """The test's result, such as `chi-square 12.5, 3 df, p < 0.001`; an empty text with too few records."""
        if self.statistic is None or self.p is None:
            return ""
        return f"chi-square {self.statistic:.1f}, {self.degrees} df, {p_words(self.p)}"


class RoundFailures(Frozen):
    """One round: its ended records, its failed records, and their comparison by trait."""

    round: int
    evaluated: int
    failed: int
    kinds: dict[ErrorKind, int]  # most frequent first
    pass_rate: Proportion  # of the records decided in this round; empty if the operation does not decide
    comparisons: tuple[Comparison, ...] = ()  # empty if nothing failed, or everything


class RetryBias(Frozen):
    """The failures of a batch by round, in order. Rounds in which no record ended are omitted."""

    rounds: tuple[RoundFailures, ...] = ()

    @property
    def worth_telling(self) -> bool:
        """True if an item failed, or there was more than one round."""
        return len(self.rounds) > 1 or any(ended.failed for ended in self.rounds)


class RoundTally:
    """A running count of the records that ended in one round. Its memory does not grow with the number of records."""

    def __init__(self) -> None:
        self._kinds: Counter[ErrorKind] = Counter()
        self._decided: Counter[bool | None] = Counter()  # whether they passed
        self._all: Mapping[Trait, Counter[int | None]] = {trait: Counter() for trait in Trait}
        self._failed: Mapping[Trait, Counter[int | None]] = {trait: Counter() for trait in Trait}

    def add(self, row: EndedRecord) -> None:
        """Count a record."""
        self._decided[row.passed] += 1
        if row.failure is not None:
            self._kinds[row.failure] += 1
        for trait, value in (
            (Trait.LENGTH, row.characters), (Trait.YEAR, row.year), (Trait.NEIGHBOURS, row.neighbours)
        ):  # fmt: skip
            self._all[trait][value] += 1
            if row.failure is not None:
                self._failed[trait][value] += 1

    def compared(self, number: int) -> RoundFailures:
        """Return the failures of the round with this number, by length, year, and decisions on neighbouring records.

        At least one record must have been added.
        """
        evaluated, failed = self._decided.total(), self._kinds.total()
        comparisons: tuple[Comparison, ...] = ()
        if 0 < failed < evaluated:
            grouped = (
                (Trait.LENGTH, self._lengths()), (Trait.YEAR, self._years()), (Trait.NEIGHBOURS, self._neighbours())
            )  # fmt: skip
            comparisons = tuple(_compared(trait, groups) for trait, groups in grouped if len(groups) > 1)
        return RoundFailures(
            round=number,
            evaluated=evaluated,
            failed=failed,
            kinds=dict(sorted(self._kinds.items(), key=lambda kind: (-kind[1], kind[0]))),
            pass_rate=wilson(self._decided[True], self._decided[True] + self._decided[False]),
            comparisons=comparisons,
        )

    def _lengths(self) -> list[Group]:
        spans = quarters(self._known(Trait.LENGTH))
        ends = {0: "the shortest quarter", 3: "the longest quarter"} if len(spans) == 4 else {}
        groups = []
        for place, span in enumerate(spans):
            label = f"{_span(*span, ',')} characters"
            records = f"records of {ends[place]} ({label})" if place in ends else f"records of {label}"
            groups.append(self._group(Trait.LENGTH, label, records, span))
        return groups

    def _years(self) -> list[Group]:
        spans = quarters(self._known(Trait.YEAR))
        groups = [
            self._group(Trait.YEAR, label, f"records of {label}", span) for span in spans if (label := _span(*span, ""))
        ]
        if self._all[Trait.YEAR][None]:
            groups.append(self._group(Trait.YEAR, "no year", "records without a year", None))
        return groups

    def _neighbours(self) -> list[Group]:
        names = {
            2: ("both passed", "records whose neighbours both passed"),
            1: ("one of the two passed", "records with only one passing neighbour"),
            0: ("neither passed", "records without a passing neighbour"),
        }
        counts = self._known(Trait.NEIGHBOURS)
        return [self._group(Trait.NEIGHBOURS, *names[n], (n, n)) for n in names if n in counts]

    def _known(self, trait: Trait) -> dict[int, int]:
        return {value: count for value, count in self._all[trait].items() if value is not None}

    def _group(self, trait: Trait, label: str, records: str, span: tuple[int, int] | None) -> Group:
        """Return the group of records with values within `span`; if `span` is None, of records without a value."""

        def inside(counted: Counter[int | None]) -> int:
            if span is None:
                return counted[None]
            return sum(n for value, n in counted.items() if value is not None and span[0] <= value <= span[1])

        n, failed = inside(self._all[trait]), inside(self._failed[trait])
        return Group(label=label, records=records, n=n, failed=failed, rate=failed / n)


def quarters(counts: Mapping[int, int]) -> list[tuple[int, int]]:
    """Divide records into quarters by value, and return each quarter's first and last value.

    `counts`: the number of records with each value. If many values are equal, there are fewer than four quarters.
    """
    ordered = sorted(counts)
    reached = list(accumulate(counts[value] for value in ordered))  # running total at each value
    spans: list[tuple[int, int]] = []
    first = 0
    for place in range(1, 5) if ordered else ():
        last = bisect_left(reached, -(-place * reached[-1] // 4))
        if first <= last:
            spans.append((ordered[first], ordered[last]))
            first = last + 1
    return spans


def _span(first: int, last: int, form: str) -> str:
    return format(first, form) if first == last else f"{first:{form}} to {last:{form}}"


def _compared(trait: Trait, groups: Sequence[Group]) -> Comparison:
    test = chi_square([group.failed for group in groups], [group.n for group in groups])
    what = {
        Trait.LENGTH: "a record's length", Trait.YEAR: "a record's year", Trait.NEIGHBOURS: "the neighbours' decisions"
    }[trait]  # fmt: skip
    if test is None:
        sentence = f"Too few records to test whether failure depends on {what}."
    elif test.p >= DOUBT:
        sentence = f"No evidence that failure depends on {what}."
    else:
        sentence = _difference(groups)
    return Comparison(
        trait=trait,
        groups=tuple(groups),
        statistic=None if test is None else test.statistic,
        degrees=len(groups) - 1,
        p=None if test is None else test.p,
        sentence=sentence,
    )


def _difference(groups: Sequence[Group]) -> str:
    """Return a sentence that compares one group with all others.

    That group has the largest standardised excess of failures.
    """
    n, failed = sum(group.n for group in groups), sum(group.failed for group in groups)
    share = failed / n
    worst = max(groups, key=lambda group: (group.failed - group.n * share) / (group.n * share) ** 0.5)
    others_n, others_failed = n - worst.n, failed - worst.failed
    records = worst.records[0].upper() + worst.records[1:]
    if not others_failed:
        return f"Only {worst.records} failed: {worst.failed:,} of {worst.n:,}. None of the others failed."
    times = worst.rate / (others_failed / others_n)
    return (
        f"{records} failed {times:.1f} times as often as the others: {worst.rate:.1%} of {worst.n:,} against "
        f"{others_failed / others_n:.1%} of {others_n:,}."
    )


def p_words(p: float) -> str:
    """Return a p-value as text: `p < 0.001`, `p = 0.004`, `p = 0.43`."""
    if p < ALMOST_NONE:
        return f"p < {ALMOST_NONE}"
    return f"p = {p:.3f}" if p < 0.1 else f"p = {p:.2f}"


@dataclass(frozen=True)
class ChiSquare:
    """The result of a chi-square test.

    `p`: the probability of this or a larger statistic if failure does not depend on the group.
    """

    statistic: float
    degrees: int
    p: float


def chi_square(failed: Sequence[int], totals: Sequence[int]) -> ChiSquare | None:
    """Return Pearson's test whether `failed / totals` is equal in all groups; None if the test is not valid.

    X² = Σ (observed - expected)² / expected, over the failed and the other records of each group. For k groups, there
    are k - 1 degrees of freedom. There is no continuity correction.

    The test is valid for two or more groups, if the expected counts meet Cochran's rule: all are at least 1, and four
    fifths of them are at least 5.

    Sources: Pearson, K. (1900), Philosophical Magazine 50, 157-175. Cochran, W. G. (1954), Some methods for
    strengthening the common χ² tests, Biometrics 10, 417-451.

    Raises `ValueError` unless 0 <= failed <= total and total > 0 in each group.
    """
    if any(not 0 <= bad <= total or total == 0 for bad, total in zip(failed, totals, strict=True)):
        raise ValueError(f"{list(failed)!r} out of {list(totals)!r} are no shares")
    if len(totals) < 2:
        return None
    share = sum(failed) / sum(totals)
    cells = [
        (observed, total * part)
        for bad, total in zip(failed, totals, strict=True)
        for observed, part in ((bad, share), (total - bad, 1 - share))
    ]
    expected = [value for _, value in cells]
    usual = sum(value >= USUAL_EXPECTED for value in expected)
    if min(expected) < LEAST_EXPECTED or usual < USUAL_SHARE * len(expected):
        return None
    statistic = sum((observed - value) ** 2 / value for observed, value in cells)
    degrees = len(totals) - 1
    return ChiSquare(statistic, degrees, upper_tail(statistic, degrees))


def upper_tail(statistic: float, degrees: int) -> float:
    """Return the probability Q that a chi-square variable with `degrees` (1 or more) is at least `statistic`.

    Q(x|1) = erfc(√(x/2)), Q(x|2) = e^(-x/2), and Q(x|n+2) = Q(x|n) + (x/2)^(n/2) e^(-x/2) / Γ(n/2 + 1).

    Source: Abramowitz, M., Stegun, I. A. (1964), Handbook of Mathematical Functions, 26.4.4, 26.4.5 and 26.4.8.
    """
    half = statistic / 2
    start = 2 - degrees % 2
    tail = erfc(sqrt(half)) if start == 1 else exp(-half)
    for before in range(start, degrees, 2):
        tail += half ** (before / 2) * exp(-half) / gamma(before / 2 + 1)
    return min(1.0, tail)
