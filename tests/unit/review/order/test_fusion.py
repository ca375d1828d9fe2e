"""Fusion and what it is made of: text models that take turns, cross-fitting, normal scores."""

from statistics import NormalDist

import numpy as np
import pytest

from tamis_review.order.ranking import fuse, judge_unseen, normal_scores
from tamis_review.order.text_features import Margins, TextFeatures, train

TEXTS = ["wood dust"] * 6 + ["salt water"] * 6 + ["wood dust and salt water"] * 4
LABELS = {0: True, 1: True, 2: True, 6: False, 7: False, 8: False}
UNREAD = np.asarray([row for row in range(16) if row not in LABELS])


@pytest.fixture(scope="module")
def features() -> TextFeatures:
    return TextFeatures.of(TEXTS)


def test_normal_scores_are_the_quantiles_of_places() -> None:
    """Places 1, 2.5, 2.5 and 4 of four: (place - 1/2) / 4."""
    quantile = NormalDist().inv_cdf
    expected = [quantile(2 / 4), quantile(0.5 / 4), quantile(2 / 4), quantile(3.5 / 4)]
    assert normal_scores(np.array([5, -1, 5, 100])) == pytest.approx(np.array(expected))


def test_a_record_has_the_better_of_its_two_places_and_the_turn_parts_equals() -> None:
    """Row 3 is not among those asked for. Places by the broad one: 1, 2, 3; by the sharp one: 3, 2, 1."""
    margins = Margins(broad=np.array([3.0, 2.0, 1.0, 9.0]), sharp=np.array([1.0, 2.0, 3.0, 9.0]))
    rows = np.array([0, 1, 2])
    assert margins.places(rows, turn=0).tolist() == [1, 3, 2]  # 1, 2, 1: the broad one's first comes first
    assert margins.places(rows, turn=1).tolist() == [2, 3, 1]
    same = Margins(broad=np.ones(4), sharp=np.ones(4))
    assert same.places(rows, turn=0).tolist() == [2, 2, 2]


def test_both_machines_put_what_reads_as_the_includes_first(features: TextFeatures) -> None:
    margins = train(features, LABELS)
    for values in (margins.broad, margins.sharp):
        assert values[3] > values[12] > values[9]


def test_the_weight_of_all_labels_is_their_number_however_few_are_included(features: TextFeatures) -> None:
    """Labels that are there twice are the same question, with twice the weight: the sharp machine fits closer."""
    doubled = TextFeatures(features.matrix[[*range(16), *LABELS]])
    again = LABELS | {16 + place: kind for place, kind in enumerate(LABELS.values())}
    once, twice = train(features, LABELS).sharp, train(doubled, again).sharp
    assert 1 > twice[0] > once[0] > 0


def test_decided_records_are_judged_by_models_that_have_not_seen_them(features: TextFeatures) -> None:
    """A record with words of its own beside an exclude's looks excluded to all others, whatever it was called."""
    unseen = judge_unseen(features, UNREAD, LABELS | {9: True}, folds=3, seed=0)
    judged = dict(zip(unseen.rows.tolist(), unseen.text.tolist(), strict=True))
    assert sorted(judged) == [0, 1, 2, 6, 7, 8, 9]
    assert judged[9] < min(judged[0], judged[1], judged[2])
    assert dict(zip(unseen.rows.tolist(), unseen.included.tolist(), strict=True))[9] == 1


def test_where_all_is_decided_nothing_is_left(features: TextFeatures) -> None:
    fused = fuse(features, [0.5] * 16, {row: row < 6 for row in range(16)})
    assert (len(fused.rows), len(fused.order)) == (0, 0)
