"""A threshold in words says what it promises and what it holds for, and nothing where there is none."""

import pytest

from tamis_review.quality.figure import Figure
from tamis_review.quality.inclusion_score import ScoreBasis
from tamis_review.quality.matching import Matching
from tamis_review.quality.pilot import Calibration, Threshold
from tamis_review.quality.sampling import Lie, Sampling
from tamis_review.quality.words import holds_for, threshold_rows

MATCHING = Matching(
    by="id",
    records=200,
    labelled=200,
    unlabelled=0,
    unlabelled_ids=(),
    labels=200,
    empty=0,
    without_record=0,
    without_record_ids=(),
    copies=0,
    labelled_by_copy=0,
)


def calibration(**threshold: object) -> Calibration:
    given = {"recall": 0.95, "delta": 0.05, "includes": 93, "missed": 1} | threshold
    return Calibration(
        matching=MATCHING,
        sampling=Sampling(lie=Lie.CENSUS, labelled=200, of=200),
        score=ScoreBasis(),
        threshold=Threshold.model_validate(given),
        saved=Figure(value=0.4, count=80, total=200, low=0.3344, high=0.4693),
        below=1_400,
        of=3_500,
    )


def test_a_threshold_is_told_with_its_guarantee_its_pilot_and_what_it_saves() -> None:
    told = {
        row.name: f"{row.values[0]} {row.about}".rstrip()
        for row in threshold_rows(calibration(value=0.3, bound=0.9501))
    }
    assert told == {
        "threshold": "0.3 keep every record with at least this score for inclusion",
        "guarantee": "recall is at least 0.95 with probability 0.95 over random samples of this size",
        "pilot": "93 labelled includes, 1 of them below; recall is above 0.9501",
        "saves": "80 of 200 = 40.0% (33.4% to 46.9%) of the labelled records are below it",
        "below": "1,400 of the batch's 3,500 records",
    }


def test_of_labels_in_blocks_it_says_how_many_say_as_much_as_one() -> None:
    (pilot,) = (
        row.values[0] for row in threshold_rows(calibration(value=0.3, bound=0.96, weight=1.5)) if row.name == "pilot"
    )
    assert pilot.endswith("; in blocks, so that 1.50 includes count as one")


def test_without_a_threshold_nothing_is_told_of_one() -> None:
    assert threshold_rows(calibration(needed=124)) == []


@pytest.mark.parametrize(
    ("lie", "seed", "begins"),
    [
        (Lie.CENSUS, None, "Every record of the batch has a label"),
        (Lie.RANDOM, None, "The guarantee holds if the labelled records are a random sample"),
        (Lie.RANDOM, 7, "The labelled records were drawn by `tamis pilot`"),
        (Lie.BLOCKS, None, "The guarantee holds if the blocks of labelled records are a random sample"),
    ],
)
def test_it_says_what_a_threshold_of_such_labels_holds_for(lie: Lie, seed: int | None, begins: str) -> None:
    told = holds_for(Sampling(lie=lie, labelled=50, of=200, seed=seed))
    assert told is not None
    assert told.startswith(begins)


def test_labels_that_somebody_chose_hold_for_nothing() -> None:
    assert holds_for(Sampling(lie=Lie.SELECTED, labelled=50, of=200)) is None
