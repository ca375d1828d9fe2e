"""A panel's recall, from what people read: everything, what the panel kept, a random sample of joint exclusions."""

from collections.abc import Mapping
from functools import cache
from itertools import product
from random import Random

import pytest
from benchmarks.panels import Simulated, simulated

from tamis_review.quality.panel_figures import PanelFigures, panel_figures
from tamis_review.quality.panel_labels import some_keeps
from tamis_review.quality.panel_record import PanelRecord, Word
from tamis_review.quality.panel_words import DRAW, NOT_KNOWN, panel_sentences
from tamis_review.quality.shared_errors import Sharing
from tamis_review.report.sections import panel_part
from tamis_schemas import InclusionStatus, Panel, PanelPolicy
from tamis_schemas.operations.panel import Vote

PANELS = 8
SAMPLE = 150  # of the joint exclusions
VOTES = {True: Vote(InclusionStatus.INCLUDE, 0.9), False: Vote(InclusionStatus.EXCLUDE, 0.1)}


@cache
def review(shared: float, seed: int) -> Simulated:
    return simulated(shared, seed, models=2, records=1_200)


def true_recall(made: Simulated) -> float:
    includes = [record for record in made.records if made.human[record.index]]
    return sum(some_keeps(record.words) for record in includes) / len(includes)


def kept(made: Simulated) -> dict[int, bool]:
    return {record.index: made.human[record.index] for record in made.records if some_keeps(record.words)}


def excluded(made: Simulated) -> list[int]:
    return [record.index for record in made.records if not some_keeps(record.words)]


@cache
def sampled(shared: float, seed: int) -> PanelFigures:
    made = review(shared, seed)
    return figures(made, with_sample(made, seed))


def with_sample(made: Simulated, seed: int) -> dict[int, bool]:
    drawn = Random(seed).sample(excluded(made), SAMPLE)
    return kept(made) | {place: made.human[place] for place in drawn}


def figures(made: Simulated, human: Mapping[int, bool]) -> PanelFigures:
    return panel_figures(made.panel, made.records, human)


@pytest.mark.parametrize("shared", [0.0, 0.9])
def test_where_people_read_only_what_the_panel_keeps_recall_and_sharing_are_not_known(shared: float) -> None:
    for seed in range(PANELS):
        made = review(shared, seed)
        shown = figures(made, kept(made))
        assert shown.recall.recall is None
        assert [(pair.misses, pair.false_includes) for pair in shown.pairs] == [(None, None)]
        assert {row.recall_with.total for row in shown.brought} | {row.missed.total for row in shown.members} == {0}
        text = " ".join(panel_sentences(shown))
        assert NOT_KNOWN in text
        assert f"`{DRAW}`" in text
        assert f"people decided none of the {len(excluded(made)):,} records that all models exclude" in text
        assert "100.0%" not in text
        assert "No sign" not in text
        assert panel_part(shown).pairs[0][-2:] == ("not known", "not known")


def test_a_sample_of_joint_exclusions_shows_the_true_recall_and_its_bound_holds() -> None:
    off, kept_bounds, shown_as = [], [], set()
    for seed in range(PANELS):
        for shared in (0.0, 0.9):
            made = review(shared, seed)
            recall = sampled(shared, seed).recall
            assert recall.recall is not None
            assert recall.low is not None
            off.append(recall.recall - true_recall(made))
            kept_bounds.append(recall.low <= true_recall(made))
            shown_as.add(recall.recall < 1)
    assert abs(sum(off) / len(off)) < 0.02
    assert sum(kept_bounds) >= 0.9 * len(kept_bounds)
    assert True in shown_as


def test_a_sample_of_joint_exclusions_shows_shared_misses_or_that_it_is_too_small() -> None:
    verdicts: dict[float, list[Sharing]] = {0.0: [], 0.9: []}
    for shared, seen in verdicts.items():
        for seed in range(PANELS):
            errors = sampled(shared, seed).pairs[0].misses
            assert errors is not None
            seen.append(errors.sharing)
    assert Sharing.SHARED not in verdicts[0.0]
    assert verdicts[0.9].count(Sharing.NO_SIGN) <= PANELS / 4
    assert verdicts[0.9].count(Sharing.SHARED) >= PANELS / 2


def test_joint_misses_that_a_third_model_keeps_do_not_look_shared() -> None:
    """They are all labelled, unlike those that all three exclude, of which a fifth is.

    Each model misses half of 200 includes, independently: 25 includes for each of eight patterns of answers.
    """
    answers = [*product((True, False), repeat=3)] * 25 + [(False,) * 3] * 75
    places = Random(1).sample(range(275), 275)
    records = [
        PanelRecord(place, f"r{place}", tuple(Word(VOTES[keeps]) for keeps in answer))
        for place, answer in zip(places, answers, strict=True)
    ]
    excluded_includes = [place for place, answer in zip(places[:200], answers, strict=False) if not any(answer)]
    labelled = {place: True for place, answer in zip(places[:200], answers, strict=False) if any(answer)}
    labelled |= dict.fromkeys(excluded_includes[:5], True) | dict.fromkeys(places[200:215], False)
    shown = panel_figures(Panel(models=("a", "b", "c")), records, labelled)
    assert shown.recall.odds == pytest.approx(0.2)
    assert shown.recall.recall == pytest.approx(175 / 200)
    for pair in shown.pairs:
        assert pair.misses is not None
        assert (pair.misses.joint, pair.misses.sharing) == (30, Sharing.NO_SIGN)
        assert pair.misses.expected == pytest.approx(30, abs=1)


def test_exclusions_that_people_chose_are_no_sample() -> None:
    made = review(0.9, 1)
    first = {place: made.human[place] for place in excluded(made)[:SAMPLE]}
    shown = figures(made, kept(made) | first)
    assert shown.recall.unknown is not None
    assert "that all models exclude, those with a decision are no random sample" in shown.recall.unknown
    best = {place: made.human[place] for place in list(kept(made))[: len(kept(made)) // 3]}
    assert figures(made, with_sample(made, 1) | best).recall.unknown is None
    only_first = {place: made.human[place] for place in Random(1).sample(excluded(made), SAMPLE)} | best
    assert "some model keeps" in str(figures(made, only_first).recall.unknown)


def test_with_all_records_decided_the_recall_is_counted() -> None:
    made = review(0.9, 2)
    recall = figures(made, made.human).recall
    assert (recall.recall, recall.low) == (pytest.approx(true_recall(made)),) * 2
    assert (recall.like_all, recall.odds, recall.unknown) == (True, 1.0, None)
    assert f"The panel keeps about {true_recall(made):.1%} of the includes" in " ".join(
        panel_sentences(figures(made, made.human))
    )


def test_a_policy_that_loses_what_some_model_keeps_lowers_the_recall() -> None:
    made = simulated(0.0, 3, records=1_200, policy=PanelPolicy.MAJORITY)
    recall = figures(made, made.human).recall
    includes = [record for record in made.records if made.human[record.index]]
    lost = sum(record.status(made.panel) == "exclude" for record in includes)
    assert recall.recall == pytest.approx(1 - lost / len(includes))
    assert recall.recall < true_recall(made)


def test_without_includes_or_labels_nothing_is_claimed() -> None:
    made = review(0.0, 1)
    nothing = figures(made, dict.fromkeys(range(len(made.records)), False)).recall
    assert (nothing.recall, nothing.unknown) == (None, None)
    assert "people decided none of" in str(figures(made, {}).recall.unknown)
