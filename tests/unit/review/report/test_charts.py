"""The charts draw what the figures say."""

from xml.etree import ElementTree

import pytest

from stage.reported import batch
from tamis_review.report.charts import HISTOGRAM, histogram, interval
from tamis_review.report.figures import ConfidenceSeries
from tamis_schemas import wilson

NAMES = {"passed": "include", "excluded": "exclude", "uncertain": "uncertain"}


def series(outcome: str, **bins: int) -> ConfidenceSeries:
    return ConfidenceSeries(outcome=outcome, bins=tuple(bins.get(f"b{n}", 0) for n in range(10)))


def bars(svg: str) -> list[dict[str, str]]:
    return [dict(rect.attrib) for rect in ElementTree.fromstring(svg).iter("rect")]  # noqa: S314 - ours


def test_columns_are_stacked_and_as_high_as_their_counts() -> None:
    svg = histogram((series("passed", b9=3), series("excluded", b9=1, b0=2)), NAMES)
    by_class = {(bar["class"], float(bar["x"])): bar for bar in bars(svg)}
    assert len(by_class) == 3
    upper, lower = sorted(
        (bar for bar in bars(svg) if float(bar["x"]) > HISTOGRAM.width / 2), key=lambda bar: float(bar["y"])
    )
    assert float(lower["height"]) == pytest.approx(3 * float(upper["height"]), rel=1e-3)
    assert float(upper["y"]) + float(upper["height"]) == pytest.approx(float(lower["y"]), abs=0.01)
    assert "include, confidence 0.9 to 1.0: 3" in svg


@pytest.mark.parametrize("most", [1, 5, 6, 37, 999, 12_345])
def test_no_column_is_higher_than_the_chart_and_there_are_few_grid_lines(most: int) -> None:
    svg = histogram((series("excluded", b5=most),), NAMES)
    (bar,) = bars(svg)
    assert 0 <= float(bar["y"]) < HISTOGRAM.height
    assert float(bar["height"]) <= HISTOGRAM.height
    assert 2 <= svg.count('class="grid"') <= 6


def test_the_histogram_says_its_numbers_in_words() -> None:
    assert "exclude: 3 at 0.9 to 1.0; uncertain: 1 at 0.4 to 0.5" in histogram(batch().confidence, NAMES)


def test_an_interval_lies_around_its_estimate() -> None:
    svg = interval(wilson(2, 6))
    assert "33.3%, 95% interval from 9.7% to 70.0%" in svg
    (range_,) = bars(svg)
    circle = next(ElementTree.fromstring(svg).iter("circle"))  # noqa: S314 - ours
    assert float(range_["x"]) < float(circle.get("cx", "0")) < float(range_["x"]) + float(range_["width"])


def test_of_nothing_there_is_no_interval() -> None:
    assert interval(wilson(0, 0)) == ""
