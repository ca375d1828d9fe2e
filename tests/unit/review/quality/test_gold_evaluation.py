"""The evaluation of a batch: who counts as what, and every edge without a crash or a number that is none."""

import json
import math
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stage.judged import copied, evaluate, failed_row, open_row, rejected, row
from tamis_review.quality.gold_evaluation import Stands
from tamis_review.quality.gold_labels import GoldLabels
from tamis_review.quality.matching import match
from tamis_review.quality.pilot import calibrate
from tamis_review.quality.words import more, rates, remarks, shown
from tamis_review.report.charts import draw_reliability
from tamis_review.report.gold_page import write_gold_page
from tamis_schemas import InvalidRequest, ItemResult, ItemStatus

# As in docs/quality.md: ten records, five of them included by the human.
ROWS = [
    row(0, "1", "include", 0.95),
    row(1, "2", "include", 0.85),
    row(2, "3", "exclude", 0.60),
    row(3, "4", "uncertain", 0.50),
    rejected(4, "5"),
    row(5, "6", "include", 0.70),
    row(6, "7", "exclude", 0.90),
    row(7, "8", "exclude", 0.95),
    failed_row(8, "9"),
    row(9, "10", "exclude", 0.80),
]
LABELS = {str(number): number <= 5 for number in range(1, 11)}

KINDS = st.sampled_from(["include", "exclude", "uncertain", "failed", "pending", "rule", "copy"])
BATCHES = st.lists(st.tuples(KINDS, st.integers(0, 4).map(lambda n: n / 4), st.booleans()), min_size=1, max_size=25)


def rows_of(batch: list[tuple[str, float, bool]]) -> list[ItemResult]:
    made = {
        "failed": failed_row,
        "pending": open_row,
        "rule": rejected,
        "copy": lambda index, item_id: copied(index, item_id, of=0) if index else row(0, item_id),
    }
    return [
        made[kind](index, str(index)) if kind in made else row(index, str(index), kind, confidence)
        for index, (kind, confidence, _) in enumerate(batch)
    ]


def test_the_worked_example() -> None:
    found = evaluate(ROWS, LABELS)
    assert found.included == Stands(include=2, referred=1, exclude=1, by_rule=1)
    assert found.excluded == Stands(include=1, referred=1, exclude=3, by_rule=0)
    assert found.referred == {"uncertain": 1, "failed: timeout": 1}
    # screening: TP = 2 + 1, FN = 1 + 1, FP = 1 + 1, TN = 3
    assert found.screening.sensitivity.value == pytest.approx(3 / 5)
    assert found.screening.specificity.value == pytest.approx(3 / 5)
    assert found.screening.precision.value == pytest.approx(3 / 5)
    assert found.screening.f1.value == pytest.approx(3 / 5)
    assert found.screening.mcc.value == pytest.approx((3 * 3 - 2 * 2) / 25)
    # decided: TP = 2, FN = 2, FP = 1, TN = 3
    assert found.decided.sensitivity.value == pytest.approx(2 / 4)
    assert found.decided.specificity.value == pytest.approx(3 / 4)
    assert found.decided.precision.value == pytest.approx(2 / 3)
    assert found.unread.value == pytest.approx(5 / 10)
    # Reading: the two referred, 0.95, 0.85, 0.70, 0.40, 0.20, 0.10, 0.05, the rule's last: nothing is saved.
    assert found.wss_95.value == pytest.approx(-0.05)
    # Scores of the includes 0.95, 0.85, 0.40; of the others 0.70, 0.10, 0.05, 0.20: 4 + 4 + 3 of 12 pairs.
    assert found.auc.value == pytest.approx(11 / 12)
    # Right are 0.95, 0.85 / wrong 0.60, 0.70 / right 0.90, 0.95, 0.80.
    # Bins: 0.6: |0 - 0.60| of 1; 0.7: |0 - 0.70| of 1; 0.8: |1 - 0.825| of 2; 0.9: |1 - 0.9333| of 3.
    assert found.reliability.ece.value == pytest.approx((0.60 + 0.70 + 2 * 0.175 + 3 * (1 - 2.8 / 3)) / 7)
    # 8 decided: agree 5; includes 3/8 and 4/8. kappa: pe = 3/16 + 5/16 = 1/2; AC1: m = 7/16, pe = 2 * 7/16 * 9/16.
    assert found.agreement.kappa == pytest.approx((5 / 8 - 1 / 2) / (1 / 2))
    assert found.agreement.ac1 == pytest.approx((5 / 8 - 126 / 256) / (1 - 126 / 256))
    assert [(one.item_id, one.rule, one.reason) for one in found.lost] == [
        ("3", None, "so it is"),
        ("5", "protocol", "protocol: It is a protocol."),
    ]


def test_a_filters_values_count_as_an_inclusions() -> None:
    same = {"include": True, "exclude": False, "uncertain": None}
    as_filter = [
        one
        if one.result is None or one.value is None
        else row(one.index, one.item_id, same[one.value], one.result.confidence)
        for one in ROWS
    ]
    found, other = evaluate(as_filter, LABELS), evaluate(ROWS, LABELS)
    assert found.screening == other.screening
    assert found.auc == other.auc


def test_the_score_of_an_exclusion_ties_with_that_of_an_inclusion_as_unsure() -> None:
    assert 1 - 0.9 != 0.1  # as floats have it
    found = evaluate([row(0, "1", "include", 0.1), row(1, "2", "exclude", 0.9)], {"1": True, "2": False})
    assert found.auc.value == 0.5


def test_another_operations_values_are_refused() -> None:
    with pytest.raises(InvalidRequest, match="only results of a filter or an inclusion"):
        evaluate([row(0, "1", "supported")], {"1": True})


@pytest.mark.parametrize("status", [ItemStatus.CANCELLED, ItemStatus.PENDING, ItemStatus.RUNNING])
def test_what_has_no_result_is_referred_to_a_human_under_its_state(status: ItemStatus) -> None:
    found = evaluate([open_row(0, "1", status), row(1, "2")], {"1": True, "2": True})
    assert found.referred == {status.value: 1}
    assert found.screening.sensitivity.value == 1


@pytest.mark.parametrize(
    ("rows", "labels", "without"),
    [
        ([row(0, "1"), row(1, "2", "exclude")], {"1": False, "2": False}, {"sensitivity", "mcc"}),  # no includes
        ([row(0, "1"), row(1, "2", "exclude")], {"1": True, "2": True}, {"specificity", "mcc"}),  # no excludes
        ([row(0, "1", "uncertain"), failed_row(1, "2")], {"1": True, "2": False}, {"mcc"}),  # all referred
    ],
)
def test_one_class_alone_or_all_referred_gives_reasons_instead_of_figures(
    rows: list[ItemResult], labels: dict[str, bool], without: set[str]
) -> None:
    found = evaluate(rows, labels)
    for name in ("sensitivity", "specificity", "precision", "f1", "mcc"):
        figure = getattr(found.screening, name)
        assert (figure.value is None) == (name in without), name
        assert (figure.reason is not None) == (name in without), name
    assert found.auc.value is None
    assert found.auc.reason


def test_no_label_at_all_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="no record has a label"):
        evaluate(ROWS, {})


@settings(max_examples=25)
@given(BATCHES)
def test_nothing_crashes_nothing_is_nan_and_every_record_is_counted(batch: list[tuple[str, float, bool]]) -> None:
    labels = {str(index): label for index, (_, _, label) in enumerate(batch)}
    matched = match(rows_of(batch), GoldLabels.of(labels))
    found = evaluate(rows_of(batch), labels)
    told = json.loads(found.model_dump_json(), parse_constant=lambda name: pytest.fail(f"{name} in the JSON"))
    assert told["matching"]["labelled"] + found.matching.copies == len(batch)
    counted = [sum(stands.model_dump().values()) for stands in (found.included, found.excluded)]
    assert sum(counted) == found.screening.matrix.n == found.matching.labelled
    assert found.screening.matrix.fn == len(found.lost) == found.decided.matrix.fn
    for line in (*rates(found), *more(found)):
        assert all("nan" not in value for value in line.values)
    for recall in (0.5, 0.9):
        threshold = calibrate(matched, recall, 0.2).calibration
        assert (threshold.refusal is None) == (threshold.threshold.value is not None)
        assert not math.isnan(threshold.saved.value or 0.0)


def test_the_page_holds_every_figure_and_escapes_what_is_foreign() -> None:
    hostile = [one.model_copy(update={"item": {"title": "<script>alert(1)</script>"}}) for one in ROWS]
    found = evaluate(hostile, LABELS)
    stream = StringIO()

    write_gold_page(
        found, stream, name="<b>x</b>", batch_id="1a2b", labels="l.csv", written=datetime(2026, 1, 1, tzinfo=UTC)
    )
    page = stream.getvalue()
    assert "<script" not in page
    assert "<b>x" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    for line in (*rates(found), *more(found)):
        assert all(value in page for value in line.values), line.name
    assert "http://" not in page.replace("http://www.w3.org/2000/svg", "")


def test_the_picture_says_every_bin_in_words_and_stands_alone() -> None:
    drawn = draw_reliability(evaluate(ROWS, LABELS).reliability)
    assert drawn.startswith('<svg xmlns="http://www.w3.org/2000/svg"')
    assert "confidence 0.9 to 1.0: 3 decisions, mean confidence 0.93, agreement of the human 100.0%" in drawn
    assert drawn.count('class="point"') == drawn.count('class="bar"') == 4
    assert "prefers-color-scheme:dark" in drawn
    empty = draw_reliability(evaluate([failed_row(0, "1")], {"1": True}).reliability)
    assert "no decision has a label" in empty


def test_what_did_not_match_is_said_in_sentences() -> None:
    matching = evaluate([row(0, "a"), row(1, "b"), copied(2, "c", of=0)], {"a": False, "c": True, "z": True}).matching
    assert remarks(matching) == [
        "labels without a record in the batch: 1 (first: z)",
        "records without a label, omitted: 1 (first: b)",
        "copies, each evaluated with its original: 1; originals included only by a copy's label: 1",
    ]


def test_figures_are_shown_with_counts_and_ends() -> None:
    found = evaluate(ROWS, LABELS)
    assert shown(found.screening.sensitivity, percent=True) == "3 of 5 = 60.0% (23.1% to 88.2%)"
    assert shown(found.screening.mcc) == "0.200 (-0.405 to 0.683)"


def test_a_pilot_that_is_too_small_says_how_many_includes_it_needs() -> None:
    said = calibrate(match(ROWS[:4], GoldLabels.of(LABELS))).calibration.refusal
    assert said is not None
    assert "it has 4 labelled includes" in said
    assert "needs at least 59 of them" in said
    assert "Label more randomly drawn records" in said
    ruled = calibrate(match(ROWS, GoldLabels.of(LABELS))).calibration.refusal
    assert ruled is not None
    assert "1 of them excluded by rules" in ruled
    assert "needs at least 93 with so many excluded" in ruled


def test_a_threshold_says_what_it_saves_and_keeps_whatever_a_human_reads() -> None:
    rows = [row(n, f"i{n}", "include", 0.7 + n / 1000) for n in range(100)]
    rows += [row(100 + n, f"e{n}", "exclude", 0.9) for n in range(300)] + [failed_row(400, "f"), rejected(401, "r")]
    labels = {one.item_id: one.item_id.startswith("i") for one in rows if one.item_id not in {"e0", "e1", "r"}}
    found = calibrate(match(rows, GoldLabels.of(labels)))
    # 100 includes allow one miss: 93 are needed for it. The second-lowest include is the threshold.
    assert found.calibration.threshold.value == 0.701
    assert found.calibration.threshold.missed == 1
    assert (found.calibration.saved.count, found.calibration.saved.total) == (299, 399)
    assert (found.calibration.below, found.calibration.of) == (302, 402)
    kept = {one.item_id for one in found.records if found.kept(one)}
    assert kept == {f"i{n}" for n in range(1, 100)} | {"f"}


def test_the_documented_example_is_what_is_computed() -> None:
    text = (Path(__file__).parents[4] / "docs" / "quality.md").read_text("utf-8")
    found = evaluate(ROWS, LABELS)
    for line in (*rates(found), *more(found)):  # of the rates those of `screening`
        assert f"| {line.name} | {line.values[0]} |" in text, line
