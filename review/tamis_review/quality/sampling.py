"""The position of the labelled records among those of the batch: as in a random sample, in blocks, or selected.

Whatever a pilot says of the whole batch it says because chance chose its records. So where they lie is held against
what chance does: six tests, each at a sixth of `SIGNIFICANCE`, so that of pilots which are random samples at most one
in a hundred is taken for none.

| test | statistic | distribution under chance |
|---|---|---|
| blocks | runs of labelled records next to each other | hypergeometric, exact (Stevens 1939) |
| stretch | the longest stretch without a label | C(N - g, n) / C(N, n) for each of n + 1 gaps, bounded by their sum |
| places | the mean place | rank sum, normal approximation with correction for continuity (Mann, Whitney 1947) |
| scores | how often a labelled record ranks above another | the same, with midranks and correction for ties |
| decisions | how many of each kind (include, exclude, by rule, referred) are labelled | hypergeometric, exact |
| databases | how many of each database are labelled | hypergeometric, exact |

The last two are two-sided and shared among the groups (Bonferroni). The first is for labels of half the batch or less:
of more, neighbours are unavoidable, and what is missing is seen as a stretch. Where it finds blocks, each block is
represented by its middle record in the other tests: whether blocks were drawn at random is then the question.

Source: Stevens, W. L. (1939), Distribution of groups in a sequence of alternatives, Annals of Eugenics 9, 10-17; Mann,
H. B., Whitney, D. R. (1947), On a test of whether one of two random variables is stochastically larger than the other,
Annals of Mathematical Statistics 18, 50-60; ties: Lehmann, E. L. (1975), Nonparametrics, Holden-Day, 1.5.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from enum import StrEnum
from itertools import compress, pairwise
from math import erfc, exp, sqrt

from pydantic import Field

from tamis_schemas.values.frozen import Frozen

from .exact import log_comb, probability_up_to
from .figure import midranks
from .judged import Judged, Stand

SIGNIFICANCE = 0.01  # of all tests together
TESTS = 6
FEWEST_BLOCKS = 10  # of fewer nobody can say how alike records within a block are
MOST_DATABASES = 20  # a column of more values names something else, such as the volume and the pages
NEIGHBOURS = 0.5  # times the mean gap: records closer than that are of one block, where there are blocks


class Lie(StrEnum):
    """The position of the labelled records."""

    CENSUS = "census"  # every record of the batch is labelled
    RANDOM = "random"  # as those of a random sample do, as far as tests can tell
    BLOCKS = "blocks"  # in blocks, which lie as if they were drawn at random
    SELECTED = "selected"  # as those of a random sample do not


class SampleFlaw(Frozen):
    """A test that says that the labelled records are no random sample."""

    test: str
    p: float  # the probability of what is found, or of worse, were they one
    words: str  # with the figures


class Sampling(Frozen):
    """The position of the labelled records, and the findings that say so."""

    lie: Lie
    labelled: int
    of: int  # records of the batch, copies left out
    blocks: int | None = None  # where they lie in blocks: how many
    seed: int | None = None  # that drew them: `tamis pilot` gives these records and no others
    findings: tuple[SampleFlaw, ...] = ()
    block_of: dict[int, int] = Field(default={}, exclude=True)  # place in the batch -> block, where they lie in blocks

    @property
    def promises(self) -> bool:
        """True where the labelled records speak for the whole batch."""
        return self.lie is not Lie.SELECTED

    @property
    def why_not(self) -> str | None:
        """The findings against them, with the figures; None where there are none."""
        if self.promises:
            return None
        return "; ".join(f"{one.words} (p {_p(one.p)})" for one in self.findings)


def examine(records: Sequence[Judged], *, seed: int | None = None) -> Sampling:
    """Examine the position of the records with a label among all.

    Args:
        records: of the batch in their order, copies left out.
        seed: of a draw that is known to have given just the labelled records.
    """
    records = sorted(records, key=lambda one: one.index)
    at = [place for place, one in enumerate(records) if one.human is not None]
    n, of = len(at), len(records)
    if n in (0, of):
        return Sampling(lie=Lie.CENSUS, labelled=n, of=of)
    if seed is not None:
        return Sampling(lie=Lie.RANDOM, labelled=n, of=of, seed=seed)
    blocks = _blocks(at, 0)
    in_blocks = _too_few_blocks(len(blocks), n, of) if 2 * n <= of else None
    flaws: list[SampleFlaw] = []
    if in_blocks is not None:
        blocks = _blocks(at, int(NEIGHBOURS * (of - n) / (n + 1)))
        if len(blocks) < FEWEST_BLOCKS:
            flaws.append(in_blocks)
    middles = {block[len(block) // 2] for block in blocks} if in_blocks is not None else set(at)
    within = {place for block in blocks for place in range(block[0], block[-1] + 1)}
    shown = [place for place in range(of) if place in middles or place not in within]
    drawn = [place in middles for place in shown]
    flaws += [one for one in _tests([records[place] for place in shown], drawn) if one is not None]
    block_of = {records[place].index: number for number, block in enumerate(blocks) for place in block}
    lie = Lie.SELECTED if flaws else Lie.RANDOM if in_blocks is None else Lie.BLOCKS
    return Sampling(
        lie=lie,
        labelled=n,
        of=of,
        blocks=None if in_blocks is None else len(blocks),
        findings=tuple(flaws),
        block_of=block_of if lie is Lie.BLOCKS else {},
    )


def rank_sum(drawn: Sequence[float], others: Sequence[float]) -> tuple[float, float]:
    """The share of pairs in which the drawn one is the larger, ties counting a half; and the two-sided p of it.

    z = (|U - m n / 2| - 1/2) / s,  s^2 = m n / 12 * (N + 1 - sum over ties of (t^3 - t) / (N (N - 1)))
    """
    m, n = len(drawn), len(others)
    total = m + n
    everyone = [*drawn, *others]
    above = sum(midranks(everyone)[:m]) - m * (m + 1) / 2
    ties = sum(t**3 - t for t in Counter(everyone).values())
    spread = m * n / 12 * (total + 1 - ties / (total * (total - 1)))
    off = max(0.0, abs(above - m * n / 2) - 0.5)
    return above / (m * n), erfc(off / sqrt(2 * spread)) if spread > 0 else 1.0


def stretch_probability(stretch: int, sample: int, population: int) -> float:
    """The probability, at most, that a random sample leaves a stretch of so many records in a row without one of it.

    Each of the n + 1 gaps is that long with C(N - g, n) / C(N, n); the sum over them bounds that of any.
    """
    if stretch > population - sample:
        return 0.0
    share = exp(log_comb(population - stretch, sample) - log_comb(population, sample))
    return min(1.0, (sample + 1) * share)


def _tests(records: Sequence[Judged], drawn: Sequence[bool]) -> Iterator[SampleFlaw | None]:
    """Run the tests on records in their order; `drawn` tells for each whether it was drawn."""
    if not any(drawn) or all(drawn):
        return
    yield _stretch(records, drawn)
    places = "stand towards the {} of the batch: behind another"
    yield _ranks("places", places, ("beginning", "end"), range(len(drawn)), drawn)
    scores = "have {} scores for inclusion: above another's"
    yield _ranks("scores", scores, ("low", "high"), [one.rank for one in records], drawn)
    yield _groups("decisions", "the system {}", [_kind(one) for one in records], drawn)
    databases = [one.database for one in records]
    names = {name for name in databases if name is not None}
    if 0 < len(names) <= MOST_DATABASES:
        yield _groups("databases", "are from {}", [name or "no database that is named" for name in databases], drawn)


def _too_few_blocks(blocks: int, n: int, of: int) -> SampleFlaw | None:
    p = probability_up_to(blocks, n, of, of - n + 1)
    usual = n * (of - n + 1) / of
    where = "one block" if blocks == 1 else f"{blocks:,} blocks"
    return _finding(
        "blocks", p, f"the {n:,} labelled records stand in {where} next to each other, where chance makes {usual:,.0f}"
    )


def _stretch(records: Sequence[Judged], drawn: Sequence[bool]) -> SampleFlaw | None:
    at = [-1, *(place for place, yes in enumerate(drawn) if yes), len(drawn)]
    before, after = max(pairwise(at), key=lambda ends: ends[1] - ends[0])
    stretch = after - before - 1
    if not stretch:
        return None
    first, last = records[before + 1].index, records[after - 1].index
    return _finding(
        "stretch",
        stretch_probability(stretch, sum(drawn), len(drawn)),
        f"no record from index {first} to {last} has a label: {stretch:,} in a row",
    )


def _ranks(
    test: str, says: str, ends: tuple[str, str], values: Sequence[float], drawn: Sequence[bool]
) -> SampleFlaw | None:
    """The ranks of what is drawn: at the one end, or at the other one."""
    others = [value for value, yes in zip(values, drawn, strict=True) if not yes]
    share, p = rank_sum(list(compress(values, drawn)), others)
    where = says.format(ends[share > 1 / 2])
    return _finding(test, p, f"the labelled records {where} in {share:.0%} of pairs, where chance makes 50%")


def _groups(test: str, says: str, names: Sequence[str], drawn: Sequence[bool]) -> SampleFlaw | None:
    """The group of which the fewest or the most are drawn, beside what chance makes."""
    of, n = len(drawn), sum(drawn)
    sizes, labelled = Counter(names), Counter(name for name, yes in zip(names, drawn, strict=True) if yes)
    if len(sizes) == 1:
        return None

    def both_sides(name: str) -> float:
        fewer = probability_up_to(labelled[name], n, of, sizes[name])
        more = 1 - probability_up_to(labelled[name] - 1, n, of, sizes[name])
        return min(1.0, 2 * min(fewer, max(0.0, more)))

    name = min(sizes, key=lambda one: (both_sides(one), one))
    usual = n * sizes[name] / of
    return _finding(
        test,
        min(1.0, both_sides(name) * len(sizes)),
        f"of {sizes[name]:,} records that {says.format(name)}, {labelled[name]:,} are labelled, where chance makes "
        f"{usual:,.0f}",
    )


def _kind(record: Judged) -> str:
    if record.rule is not None:
        return "excludes by a rule"
    return "refers to a human" if record.stand is Stand.REFERRED else f"{record.stand.value}s"


def _blocks(at: Sequence[int], gap: int) -> list[list[int]]:
    """The places in runs, whose members have at most `gap` others between them."""
    blocks: list[list[int]] = []
    for place in at:
        if blocks and place - blocks[-1][-1] <= gap + 1:
            blocks[-1].append(place)
        else:
            blocks.append([place])
    return blocks


def _finding(test: str, p: float, words: str) -> SampleFlaw | None:
    return SampleFlaw(test=test, p=p, words=words) if p < SIGNIFICANCE / TESTS else None


def _p(p: float) -> str:
    return "< 0.000001" if p < 1e-6 else f"= {p:.6f}"
