"""Graded relevance: asked for last, kept as it is, and no part of what is not graded."""

from typing import Any

import pytest

from tamis_schemas import Filter, Inclusion, SearchCriteria
from tamis_worker.llm.answer_reading import read_answer
from tamis_worker.operations import InvalidAnswer, inclusion
from tamis_worker.operations import filter as filter_
from tamis_worker.operations.answer_model import RELEVANCE_WORDS

CRITERIA = SearchCriteria(research_question="Does it work?", inclusion_criteria=["Adults"])
ITEM: dict[str, Any] = {"title": "Adults"}
FILTER = {"reasoning": "r", "value": True, "confidence": 0.9}
DECISION = {
    "rationale": "r",
    "verdicts": {"I1": {"quote": "Adults", "verdict": "met"}},
    "status": "include",
    "confidence": 0.9,
}


def test_what_is_not_graded_is_asked_and_read_as_ever() -> None:
    plain = Filter(criteria="Is it?")
    assert "graded" not in plain.model_dump(mode="json")
    assert "graded" not in Inclusion(criteria=CRITERIA).model_dump(mode="json")
    assert RELEVANCE_WORDS not in filter_.messages(plain, ITEM)[0].content
    assert "relevance" not in filter_.response_schema(plain)["properties"]
    told = read_answer(
        '{"reasoning": "r", "value": true, "confidence": 0.9, "relevance": 7}', filter_.response_schema(plain)
    )
    assert filter_.parse(plain, told.value).relevance is None


def test_the_words_on_the_grade_say_what_both_ends_of_its_scale_mean() -> None:
    assert "from 0 to 100" in RELEVANCE_WORDS
    assert "0 means certainly not, 100 certainly." in RELEVANCE_WORDS


def test_a_grade_is_asked_for_last_and_its_words_stand_once() -> None:
    graded, screening = Filter(criteria="Is it?", graded=True), Inclusion(criteria=CRITERIA, graded=True)
    for schema, messages in (
        (filter_.response_schema(graded), filter_.messages(graded, ITEM)),
        (inclusion.response_schema(screening), inclusion.messages(screening, ITEM)),
    ):
        assert list(schema["properties"])[-2:] == ["confidence", "relevance"]
        assert schema["required"] == list(schema["properties"])
        assert "\n".join(message.content for message in messages).count(RELEVANCE_WORDS) == 1
    assert graded.model_dump(mode="json")["graded"] is True
    decided = inclusion.parse(screening, ITEM, DECISION | {"relevance": 85})
    assert (decided.relevance, decided.result.confidence) == (85, 0.9)
    assert filter_.parse(graded, FILTER | {"relevance": 85.0}).relevance == 85


@pytest.mark.parametrize("relevance", [None, -1, 101, 0.85, "high", True])
def test_a_grade_that_is_missing_or_none_of_the_scale_is_asked_for_again(relevance: object) -> None:
    answer = FILTER | ({} if relevance is None else {"relevance": relevance})
    with pytest.raises(InvalidAnswer, match="relevance"):
        filter_.parse(Filter(criteria="Is it?", graded=True), answer)
