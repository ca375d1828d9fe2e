"""How labelled records lie in a batch: what a random sample is not taken for, and what is not taken for one."""

import random
from collections.abc import Collection
from dataclasses import replace
from math import comb

import pytest

from tamis_review.quality.exact import probability_up_to
from tamis_review.quality.judged import Judged, Stand
from tamis_review.quality.sampling import SIGNIFICANCE, Lie, examine, rank_sum, stretch_probability

N = 1_000


def batch(n: int = N, *, databases: tuple[str, ...] = (), seed: int = 1) -> list[Judged]:
    """Scores and databases without order."""
    draw = random.Random(seed)
    return [
        Judged(
            index,
            str(index),
            "",
            Stand.INCLUDE if (confidence := draw.choice([0.2, 0.6, 0.8, 0.9])) > 0.5 else Stand.EXCLUDE,
            "",
            confidence=confidence,
            database=draw.choice(databases) if databases else None,
        )
        for index in range(n)
    ]


def labelled(records: list[Judged], places: Collection[int]) -> list[Judged]:
    chosen = set(places)
    return [replace(one, human=True) if place in chosen else one for place, one in enumerate(records)]


def told(records: list[Judged], places: Collection[int]) -> tuple[Lie, set[str]]:
    found = examine(labelled(records, places))
    return found.lie, {one.test for one in found.findings}


def test_random_pilots_are_refused_no_oftener_than_is_said() -> None:
    records, draw = batch(400, databases=("one", "other", "third")), random.Random(3)
    for n, times in ((20, 150), (80, 150)):
        refused = sum(told(records, draw.sample(range(400), n))[0] is Lie.SELECTED for _ in range(times))
        # At 1 %, more than 6 of 150 come once in 1,000 times.
        assert refused <= 6


@pytest.mark.parametrize(
    ("places", "test"),
    [
        (range(200), "blocks"),
        (range(N - 200, N), "blocks"),
        ([*range(150), *range(500, 550)], "blocks"),
        ([place for place in range(300) if place % 3], "blocks"),
        (range(0, 400, 2), "stretch"),  # every second record of the first 400
        (random.Random(1).sample(range(850), 200), "stretch"),  # at random, but not from what was appended
        (random.Random(1).sample([*range(0, N, 2), *range(400)], 200), "places"),  # thinner towards the end
    ],
)
def test_what_lies_together_or_leaves_a_part_out_is_named(places: Collection[int], test: str) -> None:
    lie, tests = told(batch(), places)
    assert lie is Lie.SELECTED
    assert test in tests


def test_the_highest_and_the_lowest_scores_are_no_sample_and_the_words_hold_the_figures() -> None:
    records = batch()
    by_score = sorted(range(N), key=lambda place: records[place].rank)
    for places, word in ((by_score[-200:], "high"), (by_score[:200], "low")):
        found = examine(labelled(records, places))
        assert "scores" in {one.test for one in found.findings}
        assert f"have {word} scores for inclusion" in (found.why_not or "")
    middle = [place for place in range(N) if records[place].stand is Stand.INCLUDE and records[place].score == 0.6]
    found = examine(labelled(records, middle))
    included = sum(one.stand is Stand.INCLUDE for one in records)
    assert f"of {included} records that the system includes, {len(middle)} are labelled" in (found.why_not or "")


def test_a_database_that_is_missing_is_named_although_places_say_nothing() -> None:
    records = batch(databases=("Embase", "Scopus", "Medline"))
    there = [place for place, one in enumerate(records) if one.database != "Scopus"]
    found = examine(labelled(records, random.Random(2).sample(there, 150)))
    missing = N - len(there)
    assert [one.test for one in found.findings] == ["databases"]
    assert f"of {missing} records that are from Scopus, 0 are labelled, but chance would give about" in (
        found.why_not or ""
    )
    names_of_their_own = [replace(one, database=str(one.index)) for one in records]
    assert examine(labelled(names_of_their_own, random.Random(2).sample(range(N), 150))).promises


def test_pages_drawn_at_random_are_blocks_and_pages_of_one_end_are_selected() -> None:
    draw = random.Random(4)

    def of(pages: list[int]) -> list[int]:
        return [page * 10 + line for page in pages for line in range(10)]

    found = examine(labelled(batch(), of(draw.sample(range(100), 20))))
    assert found.lie is Lie.BLOCKS
    assert found.promises
    assert found.blocks is not None
    assert 14 <= found.blocks <= 20  # neighbouring pages are one
    assert len(found.block_of) == 200
    assert told(batch(), of(draw.sample(range(40), 20)))[0] is Lie.SELECTED
    assert told(batch(), of(draw.sample(range(100), 5)))[0] is Lie.SELECTED  # too few to say how alike they are


def test_a_census_and_a_known_draw_need_no_test() -> None:
    assert told(batch(), range(N))[0] is Lie.CENSUS
    assert examine(labelled(batch(), range(200)), seed=7).lie is Lie.RANDOM
    assert examine([]).lie is Lie.CENSUS


@pytest.mark.parametrize("ties", [2, 5, 10_000])
def test_the_rank_sum_is_that_of_scipy(ties: int) -> None:
    from scipy.stats import mannwhitneyu  # takes a second: not for whoever only collects

    draw = random.Random(ties)
    one, other = [draw.randrange(ties) + 0.3 for _ in range(30)], [draw.randrange(ties) for _ in range(70)]
    for first, second in ((one, other), (other, one), (other[:30], other[30:])):
        theirs = mannwhitneyu(first, second, method="asymptotic", use_continuity=True)
        share, p = rank_sum(first, second)
        assert p == pytest.approx(theirs.pvalue, rel=1e-9)
        assert share == pytest.approx(theirs.statistic / (len(first) * len(second)))
    assert rank_sum([1.0, 1.0], [1.0]) == (0.5, 1.0)


def test_the_hypergeometric_probability_is_that_of_scipy() -> None:
    from scipy.stats import hypergeom

    for found, n, of, kind in ((3, 20, 100, 30), (0, 200, 20_000, 900), (180, 200, 2_000, 1_801), (9, 10, 10, 10)):
        theirs = hypergeom.cdf(found, of, kind, n)
        assert probability_up_to(found, n, of, kind) == pytest.approx(theirs, rel=1e-8)
    assert (probability_up_to(-1, 5, 10, 5), probability_up_to(5, 5, 10, 5)) == (0.0, 1.0)


def test_the_probability_of_a_stretch_is_bounded_by_that_of_every_sample() -> None:
    # 3 of 8, a stretch of 4 without any: it can begin in 4 gaps, each with C(4, 3) / C(8, 3) = 4 / 56.
    assert stretch_probability(4, 3, 8) == pytest.approx(4 * comb(4, 3) / comb(8, 3))
    assert stretch_probability(6, 3, 8) == 0.0
    assert stretch_probability(0, 3, 8) == 1.0
    assert SIGNIFICANCE == 0.01


def test_groups_share_their_significance() -> None:
    from scipy.stats import hypergeom

    records = [replace(one, database=("one", "other", "third")[place % 3]) for place, one in enumerate(batch())]
    there = [place for place in range(N) if place % 3 != 1]
    found = {one.test: one.p for one in examine(labelled(records, random.Random(5).sample(there, 60))).findings}
    # None of 333 of the second database, both sides, three databases.
    assert found["databases"] == pytest.approx(3 * 2 * hypergeom.cdf(0, N, 333, 60), rel=1e-6)
