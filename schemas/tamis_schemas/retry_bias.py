"""Retry bias: whether the records that failed differ from those that did not, and so those decided in a later round."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from pydantic import BaseModel, ConfigDict

from .errors import ErrorKind
from .independence import chi_square
from .proportion import Proportion, wilson

# A round is looked at in three ways. At the usual 0.05 one round in seven would show something by chance, at 0.01 one
# in thirty-four.
DOUBT = 0.01
ALMOST_NONE = 0.001


class Trait(StrEnum):
    """By what the records of a round are told apart."""

    LENGTH = "length"  # characters of the fields that a model is shown
    YEAR = "year"
    NEIGHBOURS = "neighbours"  # whether the decided records before and after it in the batch passed

    @property
    def words(self) -> str:
        """As a heading says it, after `by`."""
        return "the decisions on the records before and after" if self is Trait.NEIGHBOURS else self.value


@dataclass(frozen=True, slots=True)
class Evaluated:
    """One record that ended in a round, with a decision or with an error."""

    characters: int
    year: int | None
    neighbours: int | None  # how many of the two passed; None where there are not two, or nothing passes or not
    failure: ErrorKind | None
    passed: bool | None = None  # None: it failed, or its operation decides nothing


class Group(BaseModel):
    """Some of a round's records, and how many of them failed."""

    model_config = ConfigDict(frozen=True)

    label: str  # 812 to 1,204 characters
    records: str  # in a sentence: records of the longest quarter (812 to 1,204 characters)
    n: int
    failed: int
    rate: float


class Comparison(BaseModel):
    """A round's records in groups of one trait, tested for independence of failure and group."""

    model_config = ConfigDict(frozen=True)

    trait: Trait
    groups: tuple[Group, ...]
    statistic: float | None  # Pearson's chi-square; None: too few for it
    degrees: int
    p: float | None
    sentence: str

    @property
    def tested(self) -> str:
        """`chi-square 12.5, 3 df, p < 0.001`; nothing where there are too few for it."""
        if self.statistic is None or self.p is None:
            return ""
        return f"chi-square {self.statistic:.1f}, {self.degrees} df, {p_words(self.p)}"


class RoundFailures(BaseModel):
    """One round: what ended in it, what of that failed, and by which traits."""

    model_config = ConfigDict(frozen=True)

    round: int
    evaluated: int
    failed: int
    kinds: dict[ErrorKind, int]  # the most frequent first
    pass_rate: Proportion  # of the records decided in this round; of none where the operation does not decide
    comparisons: tuple[Comparison, ...] = ()  # none where nothing failed, or everything


class RetryBias(BaseModel):
    """The rounds of a batch in which records ended, in order."""

    model_config = ConfigDict(frozen=True)

    rounds: tuple[RoundFailures, ...] = ()

    @property
    def worth_telling(self) -> bool:
        """True where something failed, or there was more than one round."""
        return len(self.rounds) > 1 or any(one.failed for one in self.rounds)


def compare(number: int, rows: Sequence[Evaluated]) -> RoundFailures:
    """The failures of one round by length, year and neighbours; `rows` are the records that ended in it, one or more.

    Lengths and years stand in quarters of equal size, as far as equal values let them; records without a year, or
    without two neighbours, stand in a group of their own, or in none.
    """
    kinds: dict[ErrorKind, int] = {}
    for row in rows:
        if row.failure is not None:
            kinds[row.failure] = kinds.get(row.failure, 0) + 1
    failed = sum(kinds.values())
    comparisons: tuple[Comparison, ...] = ()
    if 0 < failed < len(rows):
        grouped = (
            (Trait.LENGTH, _lengths(rows)), (Trait.YEAR, _years(rows)), (Trait.NEIGHBOURS, _neighbours(rows))
        )  # fmt: skip
        comparisons = tuple(_compared(trait, groups) for trait, groups in grouped if len(groups) > 1)
    return RoundFailures(
        round=number,
        evaluated=len(rows),
        failed=failed,
        kinds=dict(sorted(kinds.items(), key=lambda kind: (-kind[1], kind[0]))),
        pass_rate=wilson(sum(row.passed is True for row in rows), sum(row.passed is not None for row in rows)),
        comparisons=comparisons,
    )


def quarters(values: Sequence[int]) -> list[tuple[int, int]]:
    """The first and last value of each quarter of some values, one or more; fewer than four where values are equal."""
    ordered = sorted(values)
    n = len(ordered)
    found: list[tuple[int, int]] = []
    for place in range(1, 5):
        last = ordered[-(-place * n // 4) - 1]
        rest = [value for value in ordered if not found or value > found[-1][1]]
        if rest and rest[0] <= last:
            found.append((rest[0], last))
    return found


def _lengths(rows: Sequence[Evaluated]) -> list[Group]:
    spans = quarters([row.characters for row in rows])
    ends = {0: "the shortest quarter", 3: "the longest quarter"} if len(spans) == 4 else {}
    groups = []
    for place, (first, last) in enumerate(spans):
        label = f"{_span(first, last, ',')} characters"
        records = f"records of {ends[place]} ({label})" if place in ends else f"records of {label}"
        groups.append(_group(label, records, [row for row in rows if first <= row.characters <= last]))
    return groups


def _years(rows: Sequence[Evaluated]) -> list[Group]:
    known = [row.year for row in rows if row.year is not None]
    groups = []
    for first, last in quarters(known) if known else []:
        label = _span(first, last, "")
        inside = [row for row in rows if row.year is not None and first <= row.year <= last]
        groups.append(_group(label, f"records of {label}", inside))
    if len(known) < len(rows):
        groups.append(_group("no year", "records without a year", [row for row in rows if row.year is None]))
    return groups


def _neighbours(rows: Sequence[Evaluated]) -> list[Group]:
    names = {
        2: ("both passed", "records whose neighbours both passed"),
        1: ("one of the two passed", "records of whose neighbours one passed"),
        0: ("neither passed", "records of whose neighbours neither passed"),
    }
    found = {passed: [row for row in rows if row.neighbours == passed] for passed in names}
    return [_group(*names[passed], inside) for passed, inside in found.items() if inside]


def _group(label: str, records: str, inside: Sequence[Evaluated]) -> Group:
    failed = sum(row.failure is not None for row in inside)
    return Group(label=label, records=records, n=len(inside), failed=failed, rate=failed / len(inside))


def _span(first: int, last: int, form: str) -> str:
    return format(first, form) if first == last else f"{first:{form}} to {last:{form}}"


def _compared(trait: Trait, groups: Sequence[Group]) -> Comparison:
    test = chi_square([group.failed for group in groups], [group.n for group in groups])
    what = {
        Trait.LENGTH: "a record's length", Trait.YEAR: "a record's year", Trait.NEIGHBOURS: "the neighbours' decisions"
    }[trait]  # fmt: skip
    if test is None:
        sentence = f"Too few records to say whether failing depends on {what}."
    elif test.p >= DOUBT:
        sentence = f"No sign that failing depends on {what}."
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
    """The group that failed most beyond what was to be expected, against all others."""
    n, failed = sum(group.n for group in groups), sum(group.failed for group in groups)
    share = failed / n
    worst = max(groups, key=lambda group: (group.failed - group.n * share) / (group.n * share) ** 0.5)
    others_n, others_failed = n - worst.n, failed - worst.failed
    records = worst.records[0].upper() + worst.records[1:]
    if not others_failed:
        return f"Only {worst.records} failed: {worst.failed:,} of {worst.n:,}, of the others none."
    times = worst.rate / (others_failed / others_n)
    return (
        f"{records} failed {times:.1f} times as often as the others: {worst.rate:.1%} of {worst.n:,} against "
        f"{others_failed / others_n:.1%} of {others_n:,}."
    )


def p_words(p: float) -> str:
    """`p < 0.001`, `p = 0.004`, `p = 0.43`."""
    if p < ALMOST_NONE:
        return f"p < {ALMOST_NONE}"
    return f"p = {p:.3f}" if p < 0.1 else f"p = {p:.2f}"
