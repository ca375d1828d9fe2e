"""What is too long for a prompt is cut where it hurts least, and every cut is said, to the model and to readers."""

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tamis_schemas import Answer, Cut, Filter, Inclusion, Judge, Operation, SearchCriteria
from tamis_schemas.records.item import shown_fields, shown_value
from tamis_worker import operations
from tamis_worker.operations.prompt import BETWEEN, fitted

FILTER = Filter(criteria="Is it?")


def test_an_item_that_fits_is_sent_as_it_is() -> None:
    item = {"id": "1", "title": "T" * 20, "_note": "n" * 9000}
    result = fitted(FILTER, item, 100)
    assert result.shown is item
    assert result.cut == {}


def test_the_longest_field_gives_way_at_the_end_of_a_word_and_says_so() -> None:
    item = {"title": "a short title", "abstract": "alpha beta gamma " * 100}
    # 60 - (5 + 3 + 8 + 3 for the names) - 13 of the title = 28: "alpha beta gamma alpha beta" has 27, then a blank
    result = fitted(FILTER, item, 60)
    assert result.cut == {"abstract": Cut(27, 1699)}
    assert result.shown["title"] == "a short title"
    assert result.shown["abstract"] == ("alpha beta gamma alpha beta [cut here: 27 of 1699 characters are shown]")
    assert result.item is item
    assert len(item["abstract"]) == 1700


def test_a_word_is_not_cut_in_two() -> None:
    result = fitted(FILTER, {"a": "first secondword third"}, len("a") + BETWEEN + 10)
    assert result.shown["a"].startswith("first [cut here: 5 of 22 ")


def test_a_text_without_blanks_is_cut_all_the_same() -> None:
    result = fitted(FILTER, {"a": "漢" * 500}, len("a") + BETWEEN + 100)
    assert result.cut == {"a": Cut(100, 500)}


def test_lists_and_objects_are_cut_as_they_are_sent() -> None:
    item = {"authors": ["Smith J"] * 200, "data": {"rows": list(range(500))}}
    result = fitted(FILTER, item, 300)
    assert set(result.cut) == {"authors", "data"}
    assert result.shown["authors"].startswith("Smith J, Smith J, ")
    assert result.shown["data"].startswith('{"rows": [0, 1, 2, ')


def test_fields_for_whose_names_there_is_no_room_are_left_out_and_counted() -> None:
    item = {f"name {n:04}": "v" for n in range(1000)}  # 9 + 3 + 1 characters each
    result = fitted(FILTER, item, 130)
    assert len(result.shown) == 11
    assert result.shown["fields left out"] == "990, for want of room"
    assert result.cut["name 0999"] == Cut(0, 1)


def test_a_name_that_is_taken_is_not_taken_away() -> None:
    result = fitted(FILTER, {"fields left out": "mine", "x" * 500: "v"}, 40)
    assert result.shown["fields left out"] == "mine"
    assert result.shown["fields left out "] == "1, for want of room"


VALUES = st.text(max_size=80) | st.lists(st.text(max_size=20), max_size=8) | st.integers() | st.none()
ITEMS = st.dictionaries(st.text(min_size=1, max_size=12), VALUES, max_size=12)


@given(ITEMS, st.integers(1, 400))
def test_what_is_sent_stays_within_the_limit_and_the_record_of_it_is_true(item: dict[str, Any], limit: int) -> None:
    result = fitted(FILTER, item, limit)
    texts = {name: shown_value(value) for name, value in shown_fields(item).items()}
    sent = 0
    for name, text in texts.items():
        if name not in result.cut:
            assert result.shown[name] == item[name]
            sent += len(name) + BETWEEN + len(text)
            continue
        cut = result.cut[name]
        assert cut.of == len(text)
        assert cut.sent < cut.of or not text  # an empty list has a name, for which there may be no room
        if name in result.shown:
            assert result.shown[name].startswith(text[: cut.sent])
            sent += len(name) + BETWEEN + cut.sent
    assert sent <= limit


@given(ITEMS, st.integers(1, 400))
@example({"0" * n: "0" for n in (1, 2, 3, 9, 11, 12)}, 11)
@example(dict.fromkeys(("00", "000", "000000", "000000000", "000000000000", "000000000001", "0"), "0"), 15)
def test_more_room_leaves_out_no_more_fields_and_cuts_none_shorter(item: dict[str, Any], limit: int) -> None:
    """Room for more names is less room for texts: only where the same fields are shown can they be compared."""
    less, more = fitted(FILTER, item, limit), fitted(FILTER, item, limit + 50)
    out_of_less, out_of_more = (set(one.cut) - set(one.shown) for one in (less, more))
    assert out_of_more <= out_of_less
    if out_of_more == out_of_less:
        assert set(more.cut) <= set(less.cut)
        assert all(more.cut[name].sent >= less.cut[name].sent for name in more.cut)


LONG = {"id": "1", "title": "A title", "abstract": "It was done in adults. " + "plausible " * 900 + "THE END OF IT"}
CRITERIA = SearchCriteria(research_question="Q?", inclusion_criteria=["adults"])


@pytest.mark.parametrize(
    "operation",
    [FILTER, Inclusion(criteria=CRITERIA), Answer(instruct="Do.", resp_format="Text.", eval_crit="Good.")],
    ids=lambda operation: operation.operation,
)
def test_every_prompt_keeps_its_structure_and_tells_the_model_what_is_missing(operation: Operation) -> None:
    whole = fitted(operation, LONG, 100_000)
    short = fitted(operation, LONG, 600)
    before, after = (next(operations.program_of(operation, one.item, shown=one.shown))[0] for one in (whole, short))
    assert "THE END OF IT" in before.messages[1].content
    text = after.messages[1].content
    assert "THE END OF IT" not in text
    assert "of 9036 characters are shown]" in text
    assert text.replace(short.shown["abstract"], "X") == before.messages[1].content.replace(LONG["abstract"], "X")
    assert after.schema == before.schema


def test_a_quote_is_looked_up_in_the_whole_record() -> None:
    operation = Inclusion(criteria=CRITERIA)
    short = fitted(operation, LONG, 600)
    (question,) = next(operations.program_of(operation, short.item, shown=short.shown))
    evaluation = question.parse(
        {
            "rationale": "r",
            "verdicts": {"I1": {"quote": "THE END OF IT", "verdict": "met"}},
            "status": "include",
            "confidence": 0.9,
        }
    )
    assert evaluation.detail.verdicts["I1"].quote.found


def test_a_judge_checks_what_is_cited_in_the_whole_reasoning() -> None:
    operation = Judge(guidelines="Only facts.")
    item = {
        "value": "v",
        "confidence": 0.9,
        "context": "c " * 5000,
        "batch_size": 3,
        "reasoning": "because " * 500 + "of Email 9",
    }
    short = fitted(operation, item, 500)
    assert set(short.cut) == {"reasoning"}  # of the context the judge sees the first 2,000 characters, as specified
    with pytest.raises(StopIteration) as ended:  # without a question: nobody sent a batch of 9
        next(operations.program_of(operation, short.item, shown=short.shown))
    assert ended.value.value.detail.evidence_type == "inappropriate"
