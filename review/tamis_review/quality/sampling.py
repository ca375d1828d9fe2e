"""The position of the labelled records in the batch: as in a random sample, in blocks, or selected.

A pilot describes the whole batch only if chance chose its records. So six tests compare the records' position with
chance, each at a sixth of `SIGNIFICANCE`.

| test | statistic | distribution under chance |
|---|---|---|
| blocks | runs of labelled records next to each other | hypergeometric, exact (Stevens 1939) |
| stretch | the longest stretch without a label | bound: the sum of C(N - g, n) / C(N, n) over n + 1 gaps |
| places | the mean place | rank sum, normal approximation with correction for continuity (Mann, Whitney 1947) |
| scores | how often a labelled record ranks above an unlabelled record | rank sum: midranks, correction for ties |
| decisions | how many of each kind (include, exclude, by rule, referred) are labelled | hypergeometric, exact |
| databases | how many of each database are labelled | hypergeometric, exact |

The last two tests are two-sided, and divide their level among the groups (Bonferroni). The test for blocks is omitted
if more than half the batch is labelled. If it finds blocks, the other tests ask whether the blocks were drawn at
random. Then the middle record of a block represents the block.

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
FEWEST_BLOCKS = 10  # fewer blocks do not show how alike their records are
MOST_DATABASES = 20  # a column with more values holds something else, such as volumes and pages
NEIGHBOURS = 0.5  # times the mean gap: closer records share a block, if there are blocks


class Lie(StrEnum):
    """The position of the labelled records in the batch: everywhere, at random, in blocks, or selected."""

    CENSUS = "census"  # every record of the batch is labelled
    RANDOM = "random"  # like a random sample, as far as tests show
    BLOCKS = "blocks"  # in blocks at random positions
    SELECTED = "selected"  # unlike a random sample


class SampleFlaw(Frozen):
    """A test's finding that the labelled records are no random sample."""

    test: str
    p: float  # probability of this finding or worse in a random sample
    words: str  # the finding as text, with its figures


class Sampling(Frozen):
    """The position of the labelled records in the batch, and the findings of the tests for a random sample."""

    lie: Lie
    labelled: int
    of: int  # records of the batch, without copies
    blocks: int | None = None  # number of blocks, if there are blocks
    seed: int | None = None  # if `tamis pilot` drew exactly the labelled records: the seed of the draw
    findings: tuple[SampleFlaw, ...] = ()
    block_of: dict[int, int] = Field(default={}, exclude=True)  # place in the batch -> block, if there are blocks

    @property
    def promises(self) -> bool:
        """Return whether the labelled records represent the whole batch."""
        return self.lie is not Lie.SELECTED

    @property
    def why_not(self) -> str | None:
        """Return the tests' findings against a random sample, as text. Return None if there are none."""
        if self.promises:
            return None
        return "; ".join(f"{finding.words} (p {_p(finding.p)})" for finding in self.findings)


def examine(records: Sequence[Judged], *, seed: int | None = None) -> Sampling:
    """Return the position of the labelled records among all records, with the tests' findings.

    Args:
        records: all records of the batch, without duplicates.
        seed: the seed of a draw that gives exactly the labelled records; None if no such draw is known.
    """
    records = sorted(records, key=lambda record: record.index)
    at = [place for place, record in enumerate(records) if record.human is not None]
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
    flaws += [flaw for flaw in _tests([records[place] for place in shown], drawn) if flaw is not None]
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
    """Return the share of pairs whose drawn value is larger, and the share's two-sided p value.

    A pair has a drawn value and another value. If both are equal (a tie), the pair counts half.

        z = (|U - m n / 2| - 1/2) / s,  s^2 = m n / 12 * (N + 1 - sum over ties of (t^3 - t) / (N (N - 1)))

    m is the number of drawn values, n the number of other values, and N = m + n. U is the number of pairs whose drawn
    value is larger, and t the number of equal values in a tie.
    """
    m, n = len(drawn), len(others)
    total = m + n
    everyone = [*drawn, *others]
    above = sum(midranks(everyone)[:m]) - m * (m + 1) / 2
    ties = sum(t**3 - t for t in Counter(everyone).values())
    spread = m * n / 12 * (total + 1 - ties / (total * (total - 1)))
    off = max(0.0, abs(above - m * n / 2) - 0.5)
    return above / (m * n), erfc(off / sqrt(2 * spread)) if spread > 0 else 1.0


def chosen_by_kind(kinds: Sequence[str], drawn: Sequence[bool]) -> bool:
    """Return whether the drawn records seem to be chosen by their kind.

    Return True if all drawn records are of one kind while other kinds exist, or if chance does not explain how many
    records of some kind were drawn.

    `kinds`: the kind of each record. `drawn`: for each record, whether it was drawn.
    """
    of_drawn = set(compress(kinds, drawn))
    return len(of_drawn) == 1 < len({*kinds}) or _groups("decisions", "{}", kinds, drawn) is not None


def stretch_probability(stretch: int, sample: int, population: int) -> float:
    """Return an upper bound on the probability that a random sample omits `stretch` or more neighbouring records.

    With n of N records drawn, each of n + 1 gaps has g or more records with the probability C(N - g, n) / C(N, n). The
    bound is the sum over all gaps, with g = `stretch`.
    """
    if stretch > population - sample:
        return 0.0
    share = exp(log_comb(population - stretch, sample) - log_comb(population, sample))
    return min(1.0, (sample + 1) * share)


def _tests(records: Sequence[Judged], drawn: Sequence[bool]) -> Iterator[SampleFlaw | None]:
    """Yield for each test the flaw that it finds, or None. `drawn`: for each record, whether it was drawn."""
    if not any(drawn) or all(drawn):
        return
    yield _stretch(records, drawn)
    places = "are near the {} of the batch: after an unlabelled record"
    yield _ranks("places", places, ("beginning", "end"), range(len(drawn)), drawn)
    scores = "have {} scores for inclusion: above an unlabelled record's"
    yield _ranks("scores", scores, ("low", "high"), [record.rank for record in records], drawn)
    yield _groups("decisions", "the system {}", [_kind(record) for record in records], drawn)
    databases = [record.database for record in records]
    if 0 < len({*databases} - {None}) <= MOST_DATABASES:
        yield _groups("databases", "are from {}", [name or "an unnamed database" for name in databases], drawn)


def _too_few_blocks(blocks: int, n: int, of: int) -> SampleFlaw | None:
    p = probability_up_to(blocks, n, of, of - n + 1)
    usual = n * (of - n + 1) / of
    where = "one block" if blocks == 1 else f"{blocks:,} blocks"
    words = f"the {n:,} labelled records form {where} of neighbours; a random sample would form about {usual:,.0f}"
    return _finding("blocks", p, words)


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
    """Return a flaw if the drawn records rank too high or too low for a random sample, otherwise None."""
    others = [value for value, yes in zip(values, drawn, strict=True) if not yes]
    share, p = rank_sum(list(compress(values, drawn)), others)
    where = says.format(ends[share > 1 / 2])
    return _finding(test, p, f"the labelled records {where} in {share:.0%} of pairs, but chance would give 50%")


def _groups(test: str, says: str, names: Sequence[str], drawn: Sequence[bool]) -> SampleFlaw | None:
    """Return the flaw of the group whose number of drawn records is least probable.

    Return None if chance explains this number, or if there is only one group. `names`: the group of each record.
    `drawn`: for each record, whether it was drawn.
    """
    of, n = len(drawn), sum(drawn)
    sizes, labelled = Counter(names), Counter(name for name, yes in zip(names, drawn, strict=True) if yes)
    if len(sizes) == 1:
        return None

    def both_sides(name: str) -> float:
        fewer = probability_up_to(labelled[name], n, of, sizes[name])
        more = 1 - probability_up_to(labelled[name] - 1, n, of, sizes[name])
        return min(1.0, 2 * min(fewer, max(0.0, more)))

    name = min(sizes, key=lambda group: (both_sides(group), group))
    usual = n * sizes[name] / of
    return _finding(
        test,
        min(1.0, both_sides(name) * len(sizes)),
        f"of {sizes[name]:,} records that {says.format(name)}, {labelled[name]:,} are labelled, but chance would "
        f"give about {usual:,.0f}",
    )


def _kind(record: Judged) -> str:
    if record.rule is not None:
        return "excludes by a rule"
    return "refers to a human" if record.stand is Stand.REFERRED else f"{record.stand.value}s"


def _blocks(at: Sequence[int], gap: int) -> list[list[int]]:
    """Divide the positions of labelled records into blocks.

    Two neighbours in a block have at most `gap` unlabelled records between them.
    """
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
