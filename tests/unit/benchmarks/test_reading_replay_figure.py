"""The drawing shows each review's curves, from nothing read to everything found."""

from typing import Any
from xml.etree import ElementTree

import pytest
from benchmarks.reading_replay_figure import LEFT, PANEL_HEIGHT, PANEL_WIDTH, TOP, draw_curves

SVG = "{http://www.w3.org/2000/svg}"
LABELS = [row in (0, 50, 100, 150) for row in range(200)]
FAR = [0, 1, 50, *range(2, 50), 100, *range(51, 100), 150]


def run(order: list[int], read: float) -> dict[str, Any]:
    return {"order": order, "read_95": read}


@pytest.fixture
def drawn() -> str:
    name = "cdss_ro, no model"
    found = {name: {"0": run([0, 1, 50, 100, 150], 0.025), "1": run(FAR, 0.52)}, "simulated, AUC 0.9": {}}
    return draw_curves(found, {"cdss_ro": {"0": run(FAR, 0.52)}}, {name: LABELS})


def test_a_review_that_asreview_has_not_read_is_not_drawn(drawn: str) -> None:
    root = ElementTree.fromstring(drawn)  # noqa: S314 - ours
    assert [one.text for one in root.iter(f"{SVG}text") if one.get("class") == "caption"] == [
        "Radiation oncology, no model"
    ]
    # the median of 2.5 and 52 %
    assert "95 % found after 27.3%, by ASReview after 52.0%" in (root.findtext(f"{SVG}desc") or "")


def test_curves_go_from_nothing_to_everything_and_the_median_lies_within_the_band(drawn: str) -> None:
    root = ElementTree.fromstring(drawn)  # noqa: S314 - ours
    theirs, ours = (
        [tuple(map(float, point.split(","))) for point in (one.get("points") or "").split()]
        for one in root.iter(f"{SVG}polyline")
    )
    bottom = TOP + PANEL_HEIGHT
    for curve in (ours, theirs):
        assert (curve[0], curve[-1]) == ((LEFT, bottom), (LEFT + PANEL_WIDTH, TOP))
        assert [y for _, y in curve] == sorted((y for _, y in curve), reverse=True)
    # after 5 of 200 records the one seed has found 4 of 4, the other one 2 of 4: the median is 3 of 4
    assert ours[5][1] == pytest.approx(bottom - PANEL_HEIGHT * 0.75)
    assert theirs[5][1] == pytest.approx(bottom - PANEL_HEIGHT * 0.5)
