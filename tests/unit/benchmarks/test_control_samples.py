"""Simulated reviews with a control sample: a short form of a thousand reviews of each kind."""

import random
import re
from math import comb
from pathlib import Path

import pytest
from benchmarks import simulated_reviews
from benchmarks.control_proposal import propose
from benchmarks.control_samples import HOSTILE, Hostile, cost, coverage, includes_enough, read_with_control
from benchmarks.simulated_reviews import plain

DOCS = Path(__file__).parents[3] / "docs"


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulated_reviews, "RECORDS", 600)


@pytest.mark.parametrize("name", HOSTILE)
def test_the_recall_is_reached_or_the_promise_refused(name: str) -> None:
    row = coverage(name, 12)
    # Were the promise broken in one review of twenty, it would be in four of twelve or more with probability 0.002.
    assert row.kept >= 9 / 12
    assert row.refused == 0 or name in {"minds changed", "database added halfway"}


def test_an_added_database_is_refused_and_a_wrong_guess_only_costs_reading() -> None:
    assert coverage("database added halfway", 3).refused > 0
    draw = random.Random(1)
    review = plain(0.2)(draw, 1)
    stops = [read_with_control(review, draw, Hostile(plain(0.2), guess=guess)) for guess in (0.5, 1.0)]
    assert all(stop.recall >= 0.95 and stop.read < 1 for stop in stops)


def test_qbcb_finds_all_of_59_includes_and_all_but_one_of_93() -> None:
    assert [includes_enough(drawn) for drawn in (58, 59, 92, 93)] == [59, 59, 92, 92]
    chance = sum(comb(93, misses) * 0.05**misses * 0.95 ** (93 - misses) for misses in (0, 1))
    assert chance <= 0.05


def test_the_control_sample_reads_less_than_later_samples_in_a_good_order() -> None:
    row = cost(0.2, 0.98, 4)
    assert row.control < row.certificate < 1


def test_the_page_gives_the_range_in_which_the_kinds_keep_the_promise() -> None:
    page = " ".join((DOCS / "screening-benchmarks.md").read_text("utf-8").split())
    ((kinds, low, high),) = re.findall(
        r"(\d+) kinds of reviews .*? kind, ([\d.]+)% to ([\d.]+)% reached the promised recall", page
    )
    assert int(kinds) == len(HOSTILE)
    assert 95 <= float(low) <= float(high) <= 100


def test_a_proposal_states_the_cost_under_three_guesses() -> None:
    proposal = propose(1_000, 60)
    assert proposal is not None
    assert list(proposal.costs) == [30, 60, 120]
    assert proposal.size / 1_000 < proposal.costs[60] < 1
    assert proposal == propose(1_000, 60)


def test_a_sample_that_saves_nothing_is_not_proposed() -> None:
    assert propose(10, 1) is None
