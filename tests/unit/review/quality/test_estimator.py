"""The sequential hypergeometric test: worked out, and equal to the package of its authors."""

import random
import sys
from math import comb, isnan
from types import ModuleType
from typing import Any

import pytest

from tamis_review.quality.estimates import missed_recall_p

DELTA = 1e-10


@pytest.fixture
def buscarpy(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The authors' package; its plots need matplotlib, its figures do not, and loading it takes half a second."""
    for name in ("matplotlib", "matplotlib.pyplot"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    import buscarpy

    return buscarpy


def sequence(draw: random.Random, size: int, prevalence: float) -> list[bool]:
    """As a good order finds includes: many at first, few later."""
    return [draw.random() < prevalence * (3 if place < size / 4 else 0.3) for place in range(size)]


def test_a_worked_example() -> None:
    # Ten records, five read, the first an include. Recall 0.95 missed: at least floor(1 / 0.95 + 1) = 2 includes, so
    # one among the last four read and the five unread. None in the four: C(8, 4) / C(9, 4) = 70 / 126. All five read,
    # of the ten with two includes: one or none among them, 1 - C(8, 3) / C(10, 5) = 1 - 56 / 252.
    assert missed_recall_p([True, False, False, False, False], 10) == pytest.approx(70 / 126)
    # Two read, both includes: floor(2 / 0.95 + 1) = 3. The last one: 1 of 2 among 9, P(X <= 1) = 1; both of 3 among
    # 10: P(X <= 2) = 1.
    assert missed_recall_p([True, True], 10) == 1.0
    # Nothing found: one include at least; none of it in n of N has the probability 1 - n/N.
    assert missed_recall_p([False] * 30, 40) == pytest.approx(1 / 4)


def test_before_the_first_record_nothing_speaks_against_the_hypothesis_and_after_the_last_everything() -> None:
    assert missed_recall_p([], 10) == 1.0
    assert missed_recall_p([True, False, True], 3) == 0.0


def test_a_recall_of_next_to_nothing_is_reached_with_the_first_include() -> None:
    assert [missed_recall_p([True, False], 10, recall) for recall in (5e-324, 1e-300, 0.01)] == [0.0, 0.0, 0.0]


def test_only_the_longest_run_of_each_number_of_includes_counts() -> None:
    """Every run, one by one, comes to the same."""
    draw = random.Random(2)
    for _ in range(40):
        read = sequence(draw, draw.randint(1, 40), 0.2)
        total = len(read) + draw.randint(1, 40)
        found = sum(read)
        smallest = 1.0
        for size in range(1, len(read) + 1):
            run = sum(read[-size:])
            kind, population = int(found / 0.9 + 1 - (found - run)), total - len(read) + size
            if kind > population:
                continue
            ways = sum(comb(kind, x) * comb(population - kind, size - x) for x in range(run + 1) if x <= size)
            smallest = min(smallest, ways / comb(population, size))
        assert missed_recall_p(read, total, 0.9) == pytest.approx(smallest, abs=DELTA)


def test_p_is_that_of_buscarpy(buscarpy: Any) -> None:
    draw = random.Random(1)
    for _ in range(60):
        total = draw.randint(2, 1_500)
        read = sequence(draw, draw.randint(1, total), draw.choice([0.01, 0.05, 0.2]))
        for recall in (0.8, 0.9, 0.95, 0.99):
            wanted = buscarpy.calculate_h0([int(one) for one in read], total, recall)
            ours = missed_recall_p(read, total, recall)
            assert ours == (0.0 if isnan(wanted) else pytest.approx(wanted, rel=1e-8, abs=DELTA))


def test_fifty_thousand_decisions_need_no_more_evaluations_than_they_have_includes() -> None:
    read = sequence(random.Random(5), 50_000, 0.03)
    assert 0 < missed_recall_p(read, 60_000) < 1


@pytest.mark.parametrize(
    ("total", "recall", "words"), [(1, 0.95, "2 records read of 1"), (5, 0.0, "recall"), (5, 1.1, "recall")]
)
def test_what_makes_no_sense_is_refused(total: int, recall: float, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        missed_recall_p([True, False], total, recall)
