"""The complete figure has the boxes of PRISMA 2020's template, in its words, and each number where it belongs."""

import itertools
import re
from xml.etree import ElementTree

import pytest

from stage.complete_flow import COMPLETE, OTHERS, SEARCHED, complete_figures, tallies
from stage.reported import FLOW
from tamis_review.report.flow_svg import MOST, PADDING, draw, width
from tamis_review.report.flow_template import Box, BoxLine, Step, flow_lines, flow_template
from tamis_review.report.form import as_json, write_markdown
from tamis_schemas import SourceKind
from tamis_schemas.batches.flow import Flow, FlowSource, FlowStage, ReportFlow, Tally

SVG = "{http://www.w3.org/2000/svg}"


def words(svg: str) -> str:
    root = ElementTree.fromstring(svg)  # noqa: S314 - ours
    return " ".join("".join(text.itertext()) for text in root.iter(f"{SVG}text")).replace("\u00a0", " ")


def boxes(flow: Flow) -> dict[str, Box]:
    """The boxes by title; in a flow of several columns those of the first are under their bare title."""
    found: dict[str, Box] = {}
    for _, box in flow_template(flow).boxes:
        found.setdefault(box.title, box)
    return found


def lines(box: Box) -> list[tuple[str, int | None, int]]:
    return [(line.text, line.n, line.depth) for line in box.lines]


def test_the_figure_has_the_template_s_boxes_in_its_words_and_order() -> None:
    said = words(draw(SEARCHED))
    in_order = (
        "Identification of studies via databases and registers",
        "Records identified from: Databases (n = 70) MEDLINE (n = 70) Registers (n = 30) Registry (n = 30)",
        "Records removed before screening: Duplicate records removed (n = 20) Records marked as ineligible by "
        "automation tools (n = 5) Records removed for other reasons (n = 0)",
        "Records screened (n = 75)",
        "Records excluded (n = 63) by a human (n = 23) by automation tools (a language model alone) (n = 40)",
        "Reports sought for retrieval (n = 12)",
        "Reports not retrieved (n = 2) No copy to be had (n = 2)",
        "Reports assessed for eligibility (n = 10)",
        "Reports excluded (n = 6) Wrong outcome (n = 4) Wrong age (n = 2)",
        "Studies included in review (n = 3) Reports of included studies (n = 4)",
    )
    found = [re.sub(r"\s+", " ", said).find(expected) for expected in in_order]
    assert -1 not in found, in_order[found.index(-1)]
    for phase in ("Identification", "Screening", "Included"):
        assert f"{phase} " in f"{said} "
    assert "not decided yet" not in said  # nothing is open
    assert "other methods" not in said


def test_other_methods_stand_in_a_column_of_their_own_and_both_end_in_one_box() -> None:
    svg = draw(COMPLETE)
    said = words(svg)
    assert "Identification of studies via other methods" in said
    assert "Citation searching (n = 9)" in said
    for expected in ("Records screened (n = 75)", "Records screened (n = 8)"):
        assert expected in said
    assert "Records screened (n = 83)" not in said  # each column has its own numbers
    assert said.count("Studies included in review") == 1
    assert re.search(r"Studies included in review \(n = 4\) Reports of included studies \(n = 6\)", said)
    described = ElementTree.fromstring(svg).find(f"{SVG}desc")  # noqa: S314 - ours
    assert described is not None
    heard = described.text or ""
    assert heard.index("via databases and registers. Records identified from: 100") < heard.index(
        "via other methods. Records identified from: 9 (Citation searching: 9)"
    )


def test_reasons_of_the_screening_are_in_the_table_and_full_text_reasons_in_the_figure_too() -> None:
    assert "Wrong population" not in words(draw(SEARCHED))
    listed = lines(boxes(SEARCHED)["Records excluded"])
    assert ("reasons that the model gave", 53, 0) in listed
    assert ("Wrong population", 43, 1) in listed
    # a screening that has not come to reports shows what it has
    screening = SEARCHED.model_copy(update={"reports": None})
    assert "Wrong population (n = 43)" in words(draw(screening))
    assert "Records included by screening (n = 12)" in words(draw(screening))


def test_what_is_open_is_said_with_who_has_to_decide() -> None:
    stage = FlowStage(
        operation="inclusion",
        entered=20,
        passed=9,
        uncertain=2,
        failed=tallies(timeout=1),
        conflicts=3,
        open=4,
        cancelled=1,
    )
    reports = ReportFlow(
        sought=9,
        awaited=3,
        unassessed=2,
        excluded=tallies(Wrong_age=1),
        conflicts=1,
        uncertain=1,
        included=1,
        studies=1,
    )
    unfinished = Flow(identified=tallies(a=20), stages=(stage,), reports=reports)
    assert not unfinished.complete
    shown = boxes(unfinished)
    assert shown["Records not decided yet"].n == 11  # 3 + 2 + 1 + 4 + 1
    assert ("reviewers disagree", 3, 0) in lines(shown["Records not decided yet"])
    assert shown["Reports not assessed yet"].n == 5
    assert lines(shown["Reports not assessed yet"]) == [
        ("no retrieval decision", 3, 0),
        ("retrieved, not assessed yet", 2, 0),
    ]
    assert shown["Reports not decided yet"].n == 2
    assert shown["Reports assessed for eligibility"].n == 4  # 1 excluded + 2 in conflict + 1 included
    assert "Reports not decided yet (n = 2) reviewers disagree (n = 1) uncertain (n = 1)" in words(draw(unfinished))


def test_several_screening_stages_are_told_apart_and_an_extraction_follows_the_figure_in_the_table() -> None:
    stages = (
        FlowStage(operation="filter", entered=10, passed=6, excluded=tallies(no=4)),
        FlowStage(operation="inclusion", entered=5, held_back=1, passed=3, excluded=tallies(Animals=2)),
        FlowStage(operation="extract_fields", entered=3, passed=3),
    )
    flow = Flow(identified=tallies(a=10), stages=stages, reports=ReportFlow(sought=3, included=3, studies=3))
    shown = boxes(flow)
    assert shown["Records screened (stage 1)"].n == 10
    assert shown["Not taken to the next stage"].n == 1
    assert shown["Records screened (stage 2)"].n == 5
    assert shown["Records given to the extraction of fields"].n == 3
    assert "extraction" not in draw(flow)
    assert words(draw(flow)).count("Included") == 1


def test_a_figure_of_one_file_that_nobody_says_more_of_ends_with_the_screening() -> None:
    said = words(draw(FLOW))
    assert "via databases" not in said
    assert "Reports sought" not in said
    assert "Records screened by a language model (n = 7)" in said


def test_table_markdown_and_json_name_the_column_of_each_box() -> None:
    said = write_markdown(complete_figures())
    assert "| Screening: via databases and registers | **Records screened** | **75** |" in said
    assert "| Screening: via other methods | **Records screened** | **8** |" in said
    assert "| Included | **Studies included in review** | **4** |" in said
    assert "| MEDLINE | database | 2026-03-01 | 70 | 5 | 4 | 61 |" in said
    assert "| Citation searching | other | – | 9 | 1 | 0 | 8 |" in said
    listed = as_json(complete_figures())["boxes"]
    branching = {box["box"] for box in listed if box["side"]}
    assert branching == {
        *("Records removed before screening:", "Records excluded", "Reports not retrieved", "Reports excluded"),
    }
    assert {box["phase"] for box in listed if box["box"] == "Records screened"} == {
        "Screening: via databases and registers",
        "Screening: via other methods",
    }


def many() -> Flow:
    """Eight sources with long names, six-digit numbers, thirty reasons, other methods."""

    def column(kind: SourceKind, sources: int) -> Flow:
        reasons = tuple(
            Tally(name=f"Reason {n}: a population that is wrong in more than one way", n=10) for n in range(30)
        )
        n = 123_456 * sources
        named = [
            f"Database number {place} with a name that is rather long (Provider of it)" for place in range(sources)
        ]
        return Flow(
            identified=tuple(Tally(name=name, n=123_456) for name in named),
            sources=tuple(FlowSource(name=name, kind=kind, identified=123_456, screened=123_456) for name in named),
            stages=(FlowStage(operation="inclusion", entered=n, passed=400, excluded=tallies(x=n - 400)),),
            reports=ReportFlow(sought=400, excluded=reasons, included=100, studies=90),
        )

    searched, others = column(SourceKind.DATABASE, 8), column(SourceKind.OTHER, 1)
    n = 123_456 * 9
    return Flow(
        identified=(*searched.identified, *others.identified),
        sources=(*searched.sources, *others.sources),
        stages=(FlowStage(operation="inclusion", entered=n, passed=800, excluded=tallies(x=n - 800)),),
        reports=ReportFlow(
            sought=800, excluded=tuple(Tally(name=f"r{n}", n=20) for n in range(30)), included=200, studies=180
        ),
        columns=(searched, others),
    )


@pytest.mark.parametrize("flow", [COMPLETE, SEARCHED, OTHERS, many()], ids=["two", "searched", "others", "many"])
def test_nothing_runs_out_of_its_box_and_no_boxes_overlap(flow: Flow) -> None:
    svg = draw(flow)
    root = ElementTree.fromstring(svg)  # noqa: S314 - ours
    rects = [
        tuple(float(rect.get(name, "0")) for name in ("x", "y", "width", "height"))
        for rect in root.iter(f"{SVG}rect")
        if "flow-box" in rect.get("class", "")
    ]
    sizes = {"flow-title": 13.5, "flow-text": 12.5, "flow-text flow-part": 12.5}
    for text in root.iter(f"{SVG}text"):
        style = text.get("class", "")
        if style not in sizes:
            continue
        shown = (text.text or "") + "".join(part.tail or "" for part in text)
        x, y = float(text.get("x", "0")), float(text.get("y", "0"))
        inside = [one for one in rects if one[0] < x < one[0] + one[2] and one[1] < y < one[1] + one[3]]
        assert len(inside) == 1, shown
        assert x + width(shown, sizes[style]) <= inside[0][0] + inside[0][2] - PADDING + 0.5, shown
    for one, other in itertools.combinations(rects, 2):
        apart = (
            one[0] + one[2] <= other[0]
            or other[0] + other[2] <= one[0]
            or one[1] + one[3] <= other[1]
            or other[1] + other[3] <= one[1]
        )
        assert apart, (one, other)
    right, bottom = (float(one) for one in root.get("viewBox", "").split()[2:])
    assert max(one[0] + one[2] for one in rects) <= right
    assert max(one[1] + one[3] for one in rects) <= bottom


def test_each_box_at_the_side_has_an_arrow_of_its_own() -> None:
    # As `COMPLETE`, but 3 are awaited: 12 sought = 3 awaited + 9 assessed; 9 = 6 excluded + 3 included.
    awaited = {"not_retrieved": (), "awaited": 3}
    searched, both = SEARCHED.model_dump(), COMPLETE.model_dump()
    searched["reports"] |= awaited | {"included": 3}
    both["reports"] |= awaited | {"included": 5}
    root = ElementTree.fromstring(draw(Flow.model_validate(both | {"columns": (searched, OTHERS.model_dump())})))  # noqa: S314 - ours
    boxes = [
        tuple(float(rect.get(name, "0")) for name in ("x", "y", "height"))
        for rect in root.iter(f"{SVG}rect")
        if "flow-box" in rect.get("class", "")
    ]
    at_side = sorted({x for x, _, _ in boxes})[1::2]  # of each column its second
    points = [head.get("points", "").split()[0].split(",") for head in root.iter(f"{SVG}polygon")]
    ends = [
        [x == float(end) and y < float(height) < y + tall for end, height in points].count(True)
        for x, y, tall in boxes
        if x in at_side
    ]
    assert ends == [1] * 9


def test_of_very_many_full_text_reasons_the_rarest_are_taken_together_in_the_figure_alone() -> None:
    said = words(draw(many()))
    assert f"{31 - MOST} further (n = {10 * (31 - MOST)})" in said
    listed = next(box for step in flow_template(many()).steps for box in step.sides if box.title == "Reports excluded")
    assert len(listed.lines) == 30


def test_the_steps_of_both_columns_stand_side_by_side() -> None:
    first, second = (
        [step for step in flow_template(COMPLETE).steps if step.column == column]
        for column in ("via databases and registers", "via other methods")
    )
    assert [one.box.title for one in first] == [one.box.title for one in second]
    assert isinstance(first[0], Step)


@pytest.mark.parametrize(
    ("flow", "arrows"),
    [
        (SEARCHED, 8),  # 4 boxes with one beside each, and 4 ways down
        (COMPLETE, 16),  # the same twice: both columns end in one box
    ],
)
def test_every_arrow_ends_at_a_box_and_each_column_at_what_is_included(flow: Flow, arrows: int) -> None:
    root = ElementTree.fromstring(draw(flow))  # noqa: S314 - ours
    rects = [
        tuple(float(rect.get(name, "0")) for name in ("x", "y", "width", "height"))
        for rect in root.iter(f"{SVG}rect")
        if "flow-box" in rect.get("class", "")
    ]
    ends = [tuple(map(float, head.get("points", "").split()[0].split(","))) for head in root.iter(f"{SVG}polygon")]
    assert len(ends) == arrows
    for x, y in ends:
        at = [one for one in rects if one[0] <= x <= one[0] + one[2] and one[1] - 0.1 <= y <= one[1] + one[3]]
        assert len(at) == 1, (x, y)
    included = max(rects, key=lambda one: one[1])
    inside = [(x, y) for x, y in ends if y >= included[1]]
    assert len(inside) == arrows // 8


def test_the_short_flow_has_every_box_that_counts_a_record_and_why_without_reasons() -> None:
    assert list(flow_lines(FLOW)) == [
        BoxLine("Records identified", 12),
        BoxLine("Records removed before screening", 5, 1),
        BoxLine("duplicate records", 2, 2),
        BoxLine("marked as ineligible by automation tools (initial filter)", 3, 2),
        BoxLine("Records screened by a language model", 7),
        BoxLine("Records excluded", 3, 1),
        BoxLine("by automation tools (a language model alone)", 3, 2),
        BoxLine("Records referred to a human", 2, 1),
        BoxLine("no clear decision (uncertain)", 1, 2),
        BoxLine("no decision because of an error", 1, 2),
        BoxLine("Records included by screening", 2),
    ]


def test_the_short_flow_of_a_finished_review_has_the_totals_of_all_its_boxes() -> None:
    boxes = [box for _, box in flow_template(COMPLETE).boxes if box.n]
    assert [line.n for line in flow_lines(COMPLETE) if line.depth < 2] == [box.n for box in boxes]
