"""One scale of scores for a whole batch: the probability, else the grade, else the confidence."""

from datetime import UTC, datetime
from io import StringIO
from math import inf

import pytest

from stage.judged import evaluate, failed_row, rejected, row
from tamis_review.quality.gold_evaluation import GoldEvaluation
from tamis_review.quality.gold_labels import GoldLabels
from tamis_review.quality.inclusion_score import ScoreBasis, ScoreScale, inclusion_score
from tamis_review.quality.matching import match
from tamis_review.quality.pilot import calibrate
from tamis_review.quality.words import more, score_remark
from tamis_review.report.charts import OF_PROBABILITY, draw_reliability
from tamis_review.report.gold_page import write_gold_page
from tamis_schemas import ItemResult

LABELS = GoldLabels.of({"0": True, "1": False, "2": False})


def weighed(one: ItemResult, probability: float | None = None, relevance: int | None = None) -> ItemResult:
    return one.model_copy(update={"probability": probability, "relevance": relevance})


@pytest.mark.parametrize(
    ("decided", "probabilities", "grades", "scale", "without"),
    [
        (0, 0, 0, "confidence", 0),
        (5, 5, 0, "probability", 0),
        (5, 5, 5, "probability", 0),
        (5, 4, 5, "relevance", 0),
        (5, 4, 4, "confidence", 0),
        (1000, 990, 1000, "probability", 10),
        (1000, 989, 990, "relevance", 10),
        (99, 98, 0, "confidence", 0),  # 98 of 99 are not 99 %
    ],
)
def test_a_batch_has_the_first_scale_that_nearly_all_of_its_decided_records_have(
    decided: int, probabilities: int, grades: int, scale: str, without: int
) -> None:
    basis = ScoreBasis.counted(decided, probabilities, grades)
    assert (basis.scale, basis.without) == (scale, without)


@pytest.mark.parametrize(
    ("scale", "include", "exclude"),
    [(ScoreScale.CONFIDENCE, 0.9, 0.1), (ScoreScale.PROBABILITY, 0.7, 0.7), (ScoreScale.RELEVANCE, 0.35, 0.35)],
)
def test_the_score_is_that_of_the_scale(scale: ScoreScale, include: float, exclude: float) -> None:
    assert inclusion_score(True, 0.9, scale=scale, probability=0.7, relevance=35) == include
    assert inclusion_score(False, 0.9, scale=scale, probability=0.7, relevance=35) == exclude
    bare = inclusion_score(True, 0.9, scale=scale)
    assert bare == (0.9 if scale is ScoreScale.CONFIDENCE else None)


def test_evaluation_order_and_threshold_all_read_the_same_score() -> None:
    # By confidence the include would come last: 0.55 for it, 1 - 0.6 and 1 - 0.3 for the others.
    rows = [
        weighed(row(0, "0", "include", 0.55), 0.95),
        weighed(row(1, "1", "exclude", 0.6), 0.4),
        weighed(row(2, "2", "exclude", 0.3), 0.1),
        weighed(row(3, "3", "uncertain", 0.5), 0.5),
        failed_row(4, "4"),
        rejected(5, "5"),
    ]
    matched = match(rows, LABELS)
    assert matched.score.scale is ScoreScale.PROBABILITY
    assert [one.score for one in (*matched.records, *matched.others)] == [0.95, 0.4, 0.1, None, None, None]
    assert [one.rank for one in matched.others] == [inf, inf, -inf]
    assert evaluate(rows, LABELS).auc.value == 1.0
    assert evaluate(rows, LABELS).score == calibrate(matched).calibration.score == matched.score
    plain = [one.model_copy(update={"probability": None}) for one in rows]
    assert [one.score for one in match(plain, LABELS).records] == [0.55, 0.4, 0.7]
    assert evaluate(plain, LABELS).auc.value == 0.5


def test_two_scales_are_not_mixed_and_people_are_told_why() -> None:
    rows = [weighed(row(0, "0", "include", 0.55), 0.95), row(1, "1", "exclude", 0.6), row(2, "2", "exclude", 0.9)]
    matched = match(rows, LABELS)
    assert [one.score for one in matched.records] == [0.55, 0.4, 0.1]
    assert score_remark(matched.score) == (
        "the score for inclusion comes from the model's stated confidence: only 1 of 3 decided records have a "
        "probability, and scales are never mixed"
    )


def test_a_record_without_a_number_on_the_scale_is_read_by_a_person() -> None:
    rows = [weighed(row(place, str(place), "exclude", 0.9), 0.01 * (place % 7)) for place in range(199)]
    rows.append(row(199, "199", "exclude", 0.9))
    matched = match(rows, GoldLabels.of({"0": True}))
    assert matched.score.scale is ScoreScale.PROBABILITY
    assert (matched.others[-1].score, matched.others[-1].rank) == (None, inf)
    assert score_remark(matched.score) == (
        "the score for inclusion is the probability from the answers' tokens; 1 of 200 decided records have none, and "
        "a person reads them in any case"
    )


def test_the_probability_has_a_curve_of_its_own_beside_the_confidence() -> None:
    rows = [
        weighed(row(0, "0", "include", 0.9), 0.75),
        weighed(row(1, "1", "exclude", 0.9), 0.25),
        weighed(row(2, "2", "uncertain", 0.5), 0.5),
    ]
    found = evaluate(rows, LABELS)
    assert found.reliability.n == 2  # decisions
    assert found.reliability.ece.value == pytest.approx(0.1)
    assert found.probability is not None
    # 1 x |1 - 0.75| + 1 x |0 - 0.25| + 1 x |0 - 0.5|, of three
    assert found.probability.ece.value == pytest.approx(1 / 3)
    assert evaluate([row(0, "0"), row(1, "1"), row(2, "2")], LABELS).probability is None


def test_the_calibration_says_what_it_rests_on_or_what_it_lacks() -> None:
    few = evaluate([weighed(row(0, "0"), 0.9), weighed(row(1, "1", "exclude"), 0.2), row(2, "2", "uncertain")], LABELS)
    assert few.calibration.reason == "calibration needs 20 includes and 20 excludes that the model decided"
    assert (few.calibration.after, few.calibration.points) == (None, ())
    rows = [weighed(row(n, str(n), "exclude", 0.9), 0.9 if n % 2 else 0.6) for n in range(80)]
    labels = GoldLabels.of({str(n): n % 4 == 1 for n in range(80)})  # half of those at 0.9, none at 0.6
    found = evaluate(rows, labels).calibration
    assert (found.method, found.includes, found.excludes, found.folds) == ("platt", 20, 60, 10)
    assert found.before.ece.value == pytest.approx((0.4 + 0.6) / 2)
    assert found.after is not None
    assert found.after.ece.value is not None
    assert found.after.ece.value < 0.1
    assert [point.score for point in found.points] == [tenth / 10 for tenth in range(11)]
    assert found.points[9].probability == pytest.approx(0.5, abs=0.05)


def test_the_page_shows_the_curve_of_the_probability_and_what_the_labels_make_of_the_score() -> None:
    rows = [weighed(row(n, str(n), "exclude", 0.9), 0.9 if n % 2 else 0.6) for n in range(80)]
    found = evaluate(rows, GoldLabels.of({str(n): n % 4 == 1 for n in range(80)}))
    assert found.probability is not None
    drawn = draw_reliability(found.probability, OF_PROBABILITY)
    assert "probability of inclusion 0.9 to 1.0: 40 records, mean probability of inclusion 0.90, included by" in drawn
    assert "confidence" not in drawn

    def page_of(evaluation: GoldEvaluation) -> str:
        stream = StringIO()
        when = datetime(2026, 1, 1, tzinfo=UTC)
        write_gold_page(evaluation, stream, name="x", batch_id="1a2b", labels="l.csv", written=when)
        return stream.getvalue()

    page = page_of(found)
    assert "Reliability of the probability" in page
    assert "Platt&#39;s sigmoid, on 80 records (20 included)" in page
    assert f'<td class="number">{found.calibration.points[9].probability:.2f}</td>' in page
    for line in more(found):
        assert all(value in page for value in line.values), line.name
    assert {"ECE, probability", "ECE, calibrated"} <= {line.name for line in more(found)}
    plain = evaluate([row(0, "0"), row(1, "1", "exclude")], LABELS)
    assert "Reliability of the probability" not in page_of(plain)
    assert "The labels cannot calibrate the score: calibration needs 20 includes and 20 excludes" in page_of(plain)
