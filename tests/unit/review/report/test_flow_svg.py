"""The drawing of the flow: well-formed, complete, and nothing runs out of its box."""

import re
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stage.reported import FLOW
from tamis_review.report.flow_svg import BOLD, ELLIPSIS, MOST, PADDING, SIDE_WIDTH, SIDE_X, draw, width, wrapped
from tamis_schemas.batches.flow import Flow, FlowStage, Tally

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = "</text></svg><script>alert(1)</script>\"'&\x00\x07\ufdd0\uffff <img src=x onerror=alert(1)>"


def screening(*excluded: Tally, **changes: int) -> Flow:
    """A flow in which records are excluded for these reasons only."""
    n = sum(tally.n for tally in excluded) + sum(changes.values())
    stage = FlowStage(operation="inclusion", entered=n, passed=0, excluded=excluded, **changes)
    return Flow(identified=(Tally(name="a.ris", n=n),), stages=(stage,))


def texts(svg: str) -> list[str]:
    return ["".join(text.itertext()) for text in ElementTree.fromstring(svg).iter(f"{SVG}text")]  # noqa: S314 - ours


def words(svg: str) -> str:
    return " ".join(texts(svg)).replace("\u00a0", " ")


def test_every_box_says_its_number() -> None:
    said = words(draw(FLOW))
    for expected in (
        "Records identified (n = 12)",
        "citations.ris (n = 12)",
        "Records removed before screening (n = 5)",
        "duplicate records (n = 2)",
        "marked as ineligible by automation tools (initial filter) (n = 3)",
        "title pattern (n = 2)",
        "date range (n = 1)",
        "Records screened by a language model (n = 7)",
        "Records excluded (n = 3)",
        "by automation tools (a language model alone) (n = 3)",
        "Animal studies (n = 2)",
        "by a human (n = 0)",
        "Records referred to a human (n = 2)",
        "no clear decision (uncertain) (n = 1)",
        "no answer in time (n = 1)",
        "Records included by screening (n = 2)",
        "Identification",
        "Screening",
        "Included",
    ):
        assert expected in said


def test_the_drawing_is_described_for_whoever_does_not_see_it() -> None:
    root = ElementTree.fromstring(draw(FLOW, title="The flow of a review"))  # noqa: S314 - ours
    title, described = root.find(f"{SVG}title"), root.find(f"{SVG}desc")
    assert title is not None
    assert described is not None
    assert root.get("role") == "img"
    assert root.get("aria-labelledby") == f"{title.get('id')} {described.get('id')}"
    assert title.text == "The flow of a review"
    assert "Records referred to a human: 2 (no clear decision (uncertain): 1;" in (described.text or "")


@pytest.mark.parametrize("standalone", [True, False])
def test_what_a_record_or_a_criterion_says_stays_text(standalone: bool) -> None:
    svg = draw(screening(Tally(name=HOSTILE, n=1)), title=HOSTILE, standalone=standalone)
    root = ElementTree.fromstring(svg)  # noqa: S314 - ours
    assert {element.tag.removeprefix(SVG) for element in root.iter()} <= {
        *("svg", "title", "desc", "style", "rect", "text", "path", "polygon")
    }
    assert "\x00" not in svg


def test_alone_it_brings_its_colours_and_in_a_page_it_takes_the_page_s() -> None:
    assert "<style>" in draw(FLOW)
    assert "prefers-color-scheme" not in draw(FLOW)  # light wherever it is placed
    assert "<style>" not in draw(FLOW, standalone=False)
    assert "style=" not in draw(FLOW, standalone=False)  # a page's policy forbids it


def test_no_text_is_wider_than_its_box() -> None:
    svg = draw(
        screening(Tally(name="Longitudinal study with measurement waves " * 20, n=7_000), Tally(name="漢" * 300, n=5))
    )
    found = re.findall(r'<text class="flow-text[^"]*" x="([\d.]+)"[^>]*>(?:<title>[^<]*</title>)?([^<]*)</text>', svg)
    assert len(found) > 6
    for x, text in found:
        if float(x) >= SIDE_X:
            assert float(x) + width(text, 12.5) <= SIDE_X + SIDE_WIDTH - PADDING + 0.5, text


def test_every_phase_has_room_for_its_name() -> None:
    stage = FlowStage(operation="filter", entered=2, passed=2)
    few = draw(Flow(identified=(Tally(name="a.ris", n=2),), stages=(stage,)))
    heights = re.findall(r'<rect class="flow-band"[^>]* height="([\d.]+)"', few)
    names = re.findall(r'<text class="flow-phase"[^>]*>([^<]*)</text>', few)
    assert names[0] == "Identification"
    for name, height in zip(names, heights, strict=True):
        assert width(name, 12) * BOLD < float(height), name


def test_a_reason_that_had_to_be_cut_keeps_its_number_and_can_be_read_whole() -> None:
    reason = "a reason that goes on and on " * 20
    svg = draw(screening(Tally(name=reason, n=1_234)))
    assert any(text.endswith("\u2026 (n\u00a0=\u00a01,234)") for text in texts(svg))
    assert f"<title>{reason}</title>" in svg


def test_of_very_many_reasons_the_rarest_are_taken_together() -> None:
    reasons = [Tally(name=f"criterion {n}", n=100 - n) for n in range(40)]
    said = words(draw(screening(*reasons)))
    assert said.count("criterion ") == MOST - 1
    # the reasons 11 to 39: 29 of them, 89 + 88 + ... + 61 = 29 * 75
    assert "29 further (n = 2,175)" in said


def test_what_is_not_decided_yet_stands_in_a_box_of_its_own() -> None:
    said = words(draw(screening(Tally(name="x", n=1), open=4, cancelled=2)))
    assert "Records not screened (n = 6)" in said
    assert "waiting or in progress (n = 4)" in said
    assert "cancelled (n = 2)" in said
    assert "Records included by screening so far (n = 0)" in said


def test_the_stages_of_a_review_follow_each_other() -> None:
    stages = (
        FlowStage(operation="inclusion", entered=10, passed=6, uncertain=4),
        FlowStage(
            operation="extract_fields", entered=7, admitted=2, held_back=1, passed=6, failed=(Tally(name="empty", n=1),)
        ),
        FlowStage(operation="judge", entered=5, held_back=1, passed=5, marked=2),
    )
    said = words(draw(Flow(identified=(Tally(name="a.ris", n=10),), stages=stages)))
    for expected in (
        "Records given to the extraction of fields (n = 7)",
        "of these, not passed by the previous stage (n = 2)",
        "No result because of an error (n = 1)",
        "the answer is empty (n = 1)",
        "Records with a result of the extraction of fields (n = 6)",
        "Not taken to the next stage (n = 1)",
        "Records given to the judgement of evidence (n = 5)",
        "of these, evidence too weak to keep (n = 2)",
        "Evaluation",
    ):
        assert expected in said
    assert "full-text" not in said  # what follows is a stage


def test_wide_letters_are_wider_than_narrow_ones_and_a_wide_script_than_both() -> None:
    assert width("iii", 10) < width("nnn", 10) < width("WWW", 10)
    assert width("漢字", 10) > width("ab", 10)
    assert width("é", 10) == width("e\u0301", 10)  # an accent of its own takes no room


def test_what_does_not_fit_ends_in_an_ellipsis() -> None:
    lines = wrapped("one two three four five six seven eight nine ten", 10, 60, 2)
    assert len(lines) == 2
    assert lines[1].endswith(ELLIPSIS)


def test_a_word_wider_than_a_line_is_broken() -> None:
    lines = wrapped("10.1234/" + "x" * 60, 10, 100, 9)
    assert len(lines) > 1
    assert "".join(lines) == "10.1234/" + "x" * 60


def test_an_empty_text_is_one_empty_line() -> None:
    assert wrapped("  \n ", 10, 100) == [""]


@given(st.text(max_size=300), st.integers(min_value=40, max_value=400), st.integers(min_value=1, max_value=4))
def test_no_line_is_wider_than_its_room_and_none_is_one_too_many(text: str, room: int, lines: int) -> None:
    found = wrapped(text, 12, room, lines)
    assert 1 <= len(found) <= lines
    assert all(width(line, 12) <= room for line in found)


def test_a_text_of_a_million_characters_is_cut_at_once() -> None:
    assert len(wrapped("word " * 200_000, 12, 300)) == 3
    assert len(wrapped("x" * 1_000_000, 12, 300)) == 3
