"""The flow as a short list of the same boxes that the drawing has."""

from stage.complete_flow import COMPLETE
from stage.reported import FLOW
from tamis_review.report.boxes import BoxLine
from tamis_review.report.steps import flow_lines, steps


def test_the_short_flow_has_every_box_that_counts_a_record_and_why_without_reasons() -> None:
    assert list(flow_lines(FLOW)) == [
        BoxLine("Records identified", 12),
        BoxLine("Records removed before screening", 5, 1),
        BoxLine("duplicate records", 2, 2),
        BoxLine("marked as ineligible by automation tools (initial filter)", 3, 2),
        BoxLine("Records screened by a language model", 7),
        BoxLine("Records excluded", 3, 1),
        BoxLine("by automation (language model)", 3, 2),
        BoxLine("Records referred to a human", 2, 1),
        BoxLine("no clear decision (uncertain)", 1, 2),
        BoxLine("no decision because of an error", 1, 2),
        BoxLine("Records included by screening", 2),
    ]


def test_the_short_flow_of_a_finished_review_has_the_totals_of_all_its_boxes() -> None:
    boxes = [box for step in steps(COMPLETE) for box in (step.box, *step.sides) if box.n]
    assert [line.n for line in flow_lines(COMPLETE) if line.depth < 2] == [box.n for box in boxes]
