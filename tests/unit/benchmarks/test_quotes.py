"""Quotes of real abstracts, changed in what they say or only in how they are written: the benchmark's short form."""

from collections import Counter

import pytest
from benchmarks.quote_mutations import FLIPS, HARMLESS, LENGTHS
from benchmarks.quotes import Quoted, abstracts, after, before, quotes

from stage.shared_data import needs_real_records
from tamis_schemas.answers.results import QuoteState

EACH = 4  # quotes of a kind and a length
DRAWN = 150  # draws for them, at most
SEED = 5


@pytest.fixture(scope="module")
def records() -> list[tuple[str, str]]:
    return abstracts(["screening/synergy_Donners_2021/records.csv"])


def shares(made: list[Quoted]) -> tuple[float, float]:
    """The shares found, by the similarity of 0.95 alone and by comparing tokens."""
    found = [[check(one) is QuoteState.FOUND for one in made] for check in (before, after)]
    return sum(found[0]) / len(made), sum(found[1]) / len(made)


@needs_real_records
def test_at_most_one_in_a_hundred_is_accepted_that_flips_or_flagged_that_says_the_same(
    records: list[tuple[str, str]],
) -> None:
    flips = list(quotes(records, FLIPS, each=EACH, seed=SEED, drawn=DRAWN))
    harmless = list(quotes(records, HARMLESS, each=EACH, seed=SEED, drawn=DRAWN))
    assert {one.kind for one in flips} == {kind.name for kind in FLIPS}
    assert {one.length for one in flips} == set(LENGTHS)
    alone, accepted = shares(flips)
    assert alone > 0.4  # what the similarity accepts: the quotes are hard enough
    assert accepted <= 0.01
    assert shares(harmless)[1] >= 0.99
    assert max(Counter(quoted.kind for quoted in flips if after(quoted) is QuoteState.FOUND).values(), default=0) <= 1


@needs_real_records
def test_the_same_seed_draws_the_same_quotes_and_no_flip_stands_in_its_record(records: list[tuple[str, str]]) -> None:
    drawn = [list(quotes(records, FLIPS[:2], each=2, seed=SEED)) for _ in range(2)]
    assert drawn[0] == drawn[1]
    assert all(one.text not in one.abstract for one in drawn[0])
