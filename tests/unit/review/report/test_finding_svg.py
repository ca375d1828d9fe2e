"""The curve of finding climbs by one where an include was found, and shows what nobody has read."""

import re
from io import StringIO
from itertools import pairwise
from xml.etree import ElementTree

import pytest

from stage.reported import NOON, batch, figures
from tamis_review.report.charts import FINDING, draw_finding
from tamis_review.report.figures import FindingFigures, OrderFigures, ReadingFigures
from tamis_review.report.form import write_markdown
from tamis_review.report.methods import reading_paragraphs
from tamis_review.report.page import write_page
from tamis_schemas import ExpectedIncludes, SampledRecord, StopAnswer, StopEstimate, StopSample, StopVerdict


def points(finding: FindingFigures) -> list[tuple[float, float]]:
    drawn = ElementTree.fromstring(draw_finding(finding))  # noqa: S314 - ours
    (line,) = drawn.iter("polyline")
    return [(float(x), float(y)) for x, y in re.findall(r"([\d.]+),([\d.]+)", line.attrib["points"])]


def test_the_curve_goes_up_at_each_find_and_ends_where_people_are() -> None:
    # 100 records wide: one is (628 - 46) / 100 = 5.82; four includes high: one is (240 - 34) / 4 = 51.5
    finding = FindingFigures(records=100, read=50, finds=(1, 2, 10, 40))
    corners = points(finding)
    assert corners[0] == (FINDING.left, FINDING.bottom)
    assert corners[-1] == (pytest.approx(FINDING.left + 50 * 5.82, abs=0.06), FINDING.top)
    assert (pytest.approx(FINDING.left + 5.82, abs=0.06), FINDING.bottom - 51.5) in corners
    assert (pytest.approx(FINDING.left + 40 * 5.82, abs=0.06), FINDING.top) in corners
    assert all(left[0] <= right[0] and left[1] >= right[1] for left, right in pairwise(corners))
    svg = draw_finding(finding)
    assert "unread: 50" in svg
    assert "4 included among the 50 of 100 records that people read" in svg
    assert "2 of 4 after 2, 4 of 4 after 40 records" in svg


def test_what_is_read_to_the_end_leaves_nothing_unread_and_many_finds_fall_together() -> None:
    whole = FindingFigures(records=3, read=3, finds=())
    assert "unread: " not in draw_finding(whole)
    assert points(whole) == [(FINDING.left, FINDING.bottom), (FINDING.right, FINDING.bottom)]
    many = FindingFigures(records=50_000, read=50_000, finds=tuple(range(1, 50_001, 2)))
    assert len(draw_finding(many)) < 120_000


def test_in_an_unknown_order_there_is_no_curve_but_a_line() -> None:
    finding = FindingFigures(records=100, read=50, finds=(1, 2, 3, 4), ordered=False)
    assert len(points(finding)) == 2
    svg = draw_finding(finding)
    assert "50 of 100 records read, in unknown order; 4 included" in svg
    assert "records read by people, in an unknown order" in svg


def answer(**changes: object) -> StopAnswer:
    sampled = tuple(SampledRecord(index=n, item_id=f"r{n}", included=False) for n in range(30))
    sample = StopSample(
        id="s",
        batch_id="b",
        number=1,
        seed=7,
        recall=0.9,
        confidence=0.95,
        population=40,
        created_at=NOON,
        records=sampled,
    )
    given: dict[str, object] = {
        "batch_id": "b",
        "verdict": StopVerdict.NOT_YET,
        "headline": "Not yet.",
        "recall": 0.9,
        "confidence": 0.95,
        "records": 50,
        "read": 40,
        "found": 9,
        "unread": 10,
        "conflicts": 0,
        "uncertain": 0,
        "excluded_by_rules": 0,
        "excluded_by_model": 10,
        "promised": 0.75,
        "missed": 3,
        "includes": 12,
        "estimate": StopEstimate(p=0.25, stops=False),
        "expected": ExpectedIncludes(records=10, expected=1, low=0, high=3, basis="recent yield"),
        "samples": (sample,),
    }
    return StopAnswer.model_validate(given | changes)


def test_the_methods_tell_order_rule_sample_and_verdict() -> None:
    reading = ReadingFigures(
        finding=FindingFigures(records=50, read=40, finds=tuple(range(1, 10))),
        order=OrderFigures(read=36, seed=3, explore=0.05, decided=38, text_weight=0.7),
        stop=answer(),
    )
    (part,) = reading_paragraphs(figures(batches=(batch(reading=reading),)))
    assert part.heading == "Reading order and stop rule"
    assert part.text.startswith("36 records were read in the order of the language model's score for inclusion and")
    assert "machines; weight 0.70), retrained on the decisions so far, most recently on 38 (seed" in part.text
    assert "(seed 3; 5% of the places were given to records drawn at random)" in part.text
    assert "recall of 90% with 95% confidence. Its result was: not yet." in part.text
    assert "from 40 records unread on 2026-03-01" in part.text
    assert "Its first 30 were read, and 0 of them were included" in part.text
    assert "the wanted recall of 90% was not yet reached" in part.text
    assert "sampling frame j received the part 1 / (j (j + 1))" in part.text
    assert "p = 0.250" in part.text
    unordered = answer(estimate=StopEstimate(p=None, stops=False, together=40))
    (other,) = reading_paragraphs(figures(batches=(batch(reading=reading.model_copy(update={"stop": unordered})),)))
    assert "As an additional estimate" not in other.text
    shown = figures(batches=(batch(reading=reading),))
    page = StringIO()
    write_page(shown, [], page)
    assert 'class="chart finding-1"' in page.getvalue()
    assert '<a href="#reading">Reading</a>' in page.getvalue()
    assert "## Stop rule" in write_markdown(shown)
    write_page(figures(), [], plain := StringIO())
    assert "#reading" not in plain.getvalue()
    cold = ReadingFigures(
        finding=FindingFigures(records=50, read=1),
        order=OrderFigures(read=1, seed=0, explore=0, decided=0, text_weight=0),
    )
    (part,) = reading_paragraphs(figures(batches=(batch(reading=cold),)))
    assert part.text == (
        "1 record was read in the order of the score for inclusion from the language model's decisions (seed 0). "
        "Reviewers read 1 of 50 records and included 0. No stop rule was applied."
    )
    assert list(reading_paragraphs(figures())) == []
