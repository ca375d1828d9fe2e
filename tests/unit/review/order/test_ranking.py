"""The reading order: what stands where, and why."""

import random
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis_review.order.candidates import Candidate
from tamis_review.order.order_store import OrderTerms, ReadingOrder
from tamis_review.order.ranking import Ranking, rank
from tamis_review.order.refit import reading_order
from tamis_review.order.text_features import TextFeatures
from tamis_schemas import ReadingReason
from tamis_schemas.records.random_order import sample

NOISE = random.Random(7)
FILLER = [f"filler{number}" for number in range(40)]
WANTED, OTHER = "joiners breathe wood dust", "harbours hold salt water"


def described(wanted: bool) -> str:
    return " ".join([WANTED if wanted else OTHER, *NOISE.sample(FILLER, 12)])


INCLUDED = [row % 4 == 0 for row in range(80)]
TEXTS = [described(included) for included in INCLUDED]
FEATURES = TextFeatures.of(TEXTS)
NOTHING = TextFeatures.of([" ".join(NOISE.sample(FILLER, 12)) for _ in INCLUDED])  # texts that tell nothing
GOOD = [0.5 * included + 0.49 * NOISE.random() for included in INCLUDED]
CHANCE = [NOISE.random() for _ in INCLUDED]
NONE = [None] * 80
READ = {row: INCLUDED[row] for row in range(30)}


def rows(ranking: Ranking) -> list[int]:
    return [one.row for one in ranking.records]


def by_score(scores: Sequence[float | None], labels: Mapping[int, bool]) -> list[int]:
    known = [0.5 if score is None else score for score in scores]
    return sorted((row for row in range(len(known)) if row not in labels), key=lambda row: -known[row])


@pytest.mark.parametrize("labels", [{}, {0: True, 4: True}, {1: False, 2: False}])
def test_before_an_include_and_an_exclude_the_order_is_that_of_the_models_scores(labels: dict[int, bool]) -> None:
    scores = [*GOOD[:79], None]  # of no score: between inclusions and exclusions
    ranking = rank(FEATURES, scores, labels)
    assert rows(ranking) == by_score(scores, labels)
    assert {one.why for one in ranking.records} == {ReadingReason.MODEL}
    assert (ranking.text_weight, ranking.included) == (0, sum(labels.values()))


def test_without_scores_and_labels_chance_orders_the_records() -> None:
    ranking = rank(FEATURES, NONE, {}, seed=3)
    assert sorted(rows(ranking)) == list(range(80))
    assert rows(ranking) == sample(range(80), 80, seed=3)
    assert rows(rank(FEATURES, NONE, {}, seed=4)) != rows(ranking)
    assert {one.why for one in ranking.records} == {ReadingReason.EXPLORATION}


def test_without_scores_the_text_of_what_people_included_leads() -> None:
    ranking = rank(FEATURES, NONE, {0: True, 1: False})
    assert sum(INCLUDED[row] for row in rows(ranking)[:19]) >= 17
    assert {one.why for one in ranking.records} == {ReadingReason.TEXT}
    assert ranking.text_weight == 1


def test_scores_that_are_all_the_same_leave_the_order_to_the_text() -> None:
    assert rows(rank(FEATURES, [0.7] * 80, READ)) == rows(rank(FEATURES, NONE, READ))


def test_texts_that_are_all_the_same_leave_the_order_to_the_score() -> None:
    same = TextFeatures.of(["one text for all"] * 79 + ["another text"])
    for labels in ({0: True, 1: False}, READ):
        assert rows(rank(same, GOOD, labels)) == by_score(GOOD, labels)


def test_the_weight_follows_what_tells_includes_from_excludes() -> None:
    by_text = rank(FEATURES, CHANCE, READ)
    by_model = rank(NOTHING, GOOD, READ)
    expected = 8 / (8 + 10)  # of eight includes, whatever they say
    assert by_text.text_weight - 0.1 > expected > by_model.text_weight + 0.1
    for ranking in (by_text, by_model):
        assert sum(INCLUDED[row] for row in rows(ranking)[:12]) >= 10  # of the twelve that are left
    assert by_text.records[0].why is ReadingReason.TEXT
    assert by_model.records[0].why is ReadingReason.MODEL
    assert ReadingReason.BOTH in {one.why for one in rank(FEATURES, GOOD, READ).records[:12]}


def test_a_score_that_points_the_wrong_way_is_left_out_and_not_turned_round() -> None:
    read = {row: INCLUDED[row] for row in range(60)}
    ranking = rank(NOTHING, [1 - score for score in GOOD], read)
    assert ranking.text_weight == 1
    assert rows(ranking) == rows(rank(NOTHING, NONE, read))


def test_the_first_include_moves_the_order_but_little() -> None:
    assert rank(FEATURES, GOOD, {0: True, 1: False}).text_weight == pytest.approx(1 / 11)


def explored(labels: dict[int, bool], share: float) -> ReadingOrder:
    records = [
        Candidate(row, f"r{row}", "", "", score, None, row in labels, labels.get(row)) for row, score in enumerate(GOOD)
    ]
    return reading_order(FEATURES, records, labels, OrderTerms(2, share))


def test_each_record_that_chance_drew_says_so() -> None:
    plain, order = explored(READ, 0), explored(READ, 0.2)
    drawn = [row for row, why in zip(order.places, order.reasons, strict=True) if why is ReadingReason.EXPLORATION]
    assert abs(len(drawn) - 10) <= 1
    assert [row for row in order.places if row not in drawn] == [row for row in plain.places if row not in drawn]


def test_what_chance_draws_stays_drawn_when_the_records_before_it_are_decided() -> None:
    before = explored(READ, 0.2)
    place = before.reasons.index(ReadingReason.EXPLORATION)
    after = explored(READ | {row: INCLUDED[row] for row in before.places[:place]}, 0.2)
    assert (after.places[0], after.reasons[0]) == (before.places[place], ReadingReason.EXPLORATION)


@settings(max_examples=15, deadline=None)
@given(
    labelled=st.sets(st.integers(0, 79), max_size=60),
    seed=st.integers(0, 50),
    scored=st.booleans(),
    shuffle=st.randoms(use_true_random=False),
)
def test_order_is_the_same_for_the_same_seed_and_labels_and_holds_each_unread_record_once(
    labelled: set[int], seed: int, scored: bool, shuffle: random.Random
) -> None:
    scores = CHANCE if scored else NONE
    ranking = rank(FEATURES, scores, {row: INCLUDED[row] for row in sorted(labelled)}, seed=seed)
    shuffled = list(labelled)
    shuffle.shuffle(shuffled)
    assert rank(FEATURES, scores, {row: INCLUDED[row] for row in shuffled}, seed=seed) == ranking
    assert sorted(rows(ranking)) == [row for row in range(80) if row not in labelled]


@settings(max_examples=10, deadline=None)
@given(moved=st.permutations(range(30, 80)), scored=st.booleans())
def test_places_of_unread_records_do_not_matter(moved: list[int], scored: bool) -> None:
    source = [*range(30), *moved]  # what stands at each row now
    scores = CHANCE if scored else NONE
    here = rank(FEATURES, scores, READ)
    there = rank(TextFeatures(FEATURES.matrix[source]), [scores[row] for row in source], READ)
    assert [source[row] for row in rows(there)] == rows(here)


@pytest.mark.parametrize(
    ("scores", "labels", "says"),
    [
        (GOOD[:79], {}, "79 scores for 80 texts"),
        (GOOD, {80: True}, "label for row 80, but the rows are 0 to 79"),
        ([*GOOD[:79], float("nan")], {}, "the score of row 79 is nan"),
        ([*GOOD[:79], 95.0], {}, r"the score of row 79 is 95.0, but must be between 0 and 1"),
    ],
)
def test_arguments_that_do_not_belong_together_are_refused(
    scores: Sequence[float | None], labels: dict[int, bool], says: str
) -> None:
    with pytest.raises(ValueError, match=says):
        rank(FEATURES, scores, labels)
