"""Labels in blocks: the design effect, and the intervals and thresholds that it widens."""

from dataclasses import replace

import pytest

from stage.judged import evaluate, row
from tamis_review.quality.design import SELECTED, Design, design_effect, intraclass_correlation, mean_block
from tamis_review.quality.exact import lower_bound
from tamis_review.quality.gold_labels import GoldLabels
from tamis_review.quality.judged import Judged, judged
from tamis_review.quality.matching import match
from tamis_review.quality.pilot import calibrate, choose_threshold
from tamis_review.quality.sampling import Lie, Sampling
from tamis_schemas import ItemResult, wilson


def test_the_arithmetic_written_out() -> None:
    blocks = [0, 0, 1, 1, 2, 2]
    # All alike within: MSW = 0, ICC = 1; m = 3 * 4 / 6 = 2; deff = 1 + (2 - 1) * 1
    assert intraclass_correlation(blocks, [True, True, False, False, True, True]) == 1.0
    assert design_effect(blocks, [True, True, False, False, True, True]) == 2.0
    # Mixed within, the same between: MSB = 0, MSW = (3 * 2 / 4) / 3 = 1/2, ICC = -1 and so 0
    assert design_effect(blocks, [True, False] * 3) == 1.0
    # Shares 1, 1/2, 1/2; mean 2/3. MSB = 2 * (1/9 + 1/36 + 1/36) / 2 = 1/6; MSW = 2 * (1/4 + 1/4) / 3 = 1/3;
    # m0 = (6 - 2) / 2 = 2; ICC = (1/6 - 1/3) / (1/6 + 1/3) < 0
    assert intraclass_correlation(blocks, [True, True, True, False, True, False]) == 0.0
    # Sizes 3 and 1: m = 10 / 4
    assert mean_block([0, 0, 0, 1]) == 2.5
    assert design_effect([0, 1, 2], [True, False, True]) == 1.0  # blocks of one record
    assert design_effect(blocks, [True] * 6) == 2.0  # cannot be measured: a block counts as one record


def rows(n: int) -> list[ItemResult]:
    """Pages of ten; of every third page the model is wrong."""
    return [row(at, str(at), "include" if (at // 10) % 3 else "exclude", 0.9) for at in range(n)]


def test_a_widened_interval_is_that_of_as_many_records_as_the_labels_are_worth() -> None:
    records = [replace(judged(one), human=True) for one in rows(100)]
    block_of = {one.index: one.index // 10 for one in records}
    design = Design(Sampling(lie=Lie.BLOCKS, labelled=100, of=1_000, block_of=block_of))

    def kept(one: Judged) -> bool:
        return one.score is not None and one.score > 0.5

    level = design.level(records, kept)
    count = sum(map(kept, records))
    # All alike within a page: deff = 10, so that 60 of 100 are 6 of 10.
    assert (count, design_effect(list(block_of.values()), list(map(kept, records)))) == (60, pytest.approx(10))
    wide, ten = wilson(60, 100, level), wilson(6, 10)
    assert (wide.low, wide.high) == (pytest.approx(ten.low), pytest.approx(ten.high))
    assert Design(Sampling(lie=Lie.SELECTED, labelled=100, of=1_000)).level(records, kept) is None


def test_labels_of_a_contiguous_run_compare_but_promise_nothing() -> None:
    found = evaluate(rows(300), {str(at): True for at in range(60)})
    sensitivity = found.screening.sensitivity
    assert (sensitivity.value, sensitivity.low, sensitivity.high) == (40 / 60, None, None)
    assert sensitivity.reason == SELECTED
    assert found.agreement.ac1_low is None
    assert all(one.right.low is None for one in found.reliability.bins)
    assert found.sampling.why_not
    whole = evaluate(rows(300), {str(at): True for at in range(300)})
    assert whole.screening.sensitivity.low is not None
    assert whole.sampling.lie is Lie.CENSUS


def test_a_threshold_from_blocks_takes_a_block_for_one_record() -> None:
    # Without misses log(0.05) / log(0.95) = 58.41 includes are needed, of blocks of ten 584.1.
    few, found = choose_threshold([0.9] * 584, weight=10), choose_threshold([0.9] * 585, weight=10)
    assert (few.value, few.needed) == (None, 585)
    assert found.value == 0.9
    assert found.bound == pytest.approx(lower_bound(58.5, 58.5))
    missing = choose_threshold([0.1] + [0.9] * 929, weight=10)  # a miss is a tenth of a block, too
    assert (missing.value, missing.missed, missing.bound) == (0.9, 1, pytest.approx(lower_bound(92.9, 93.0)))


def test_a_pilot_that_is_no_sample_gets_no_threshold_whatever_it_holds() -> None:
    labels = {str(at): True for at in range(200)}
    found = calibrate(match(rows(2_000), GoldLabels.of(labels)), 0.5, 0.05).calibration
    assert found.threshold.value is None
    assert "not a random sample" in (found.refusal or "")
    assert "200 labelled records form one block" in (found.refusal or "")
    everything = {str(at): True for at in range(2_000)}
    assert calibrate(match(rows(2_000), GoldLabels.of(everything)), 0.5, 0.05).calibration.refusal is None
