"""The metrics of spec 4, with the arithmetic written out."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from tamis_schemas import Chunk, Evaluation, Extraction, RecallAnswer, Retrieval
from tamis_worker import evaluation
from tamis_worker.evaluation import (
    aggregated_confidence,
    agreement_pattern,
    context_precision,
    context_recall_heuristic,
    context_recall_llm,
    context_relevance,
    escalates,
    multi_source_agreement,
    recall_warning,
    semantic_validation,
)


def chunk(name: str, method: str | None = None, score: float | None = None, page: Any = None) -> dict[str, Any]:
    return {"chunk_id": name, "text": "t", "retrieval_method": method, "score": score, "page": page}


def citing(*numbers: int | None) -> list[dict[str, Any]]:
    return [{"value": "x", "chunk_number": number} for number in numbers]


def valued(*values: Any, **more: Any) -> list[dict[str, Any]]:
    return [{"value": value, **more} for value in values]


@pytest.mark.spec("4.7", "4.8", "4.9")
@pytest.mark.parametrize(
    ("chunks", "value"),
    [
        # 0.4 x 1/2 + 0.5 x (0.9 + 0.7 + 0.8) / 3 + 0.1 x 2/5 = 0.2 + 0.4 + 0.04
        ([chunk("a", "bm25", 0.9, 1), chunk("a", "knn", 0.7, 1), chunk("b", "knn", 0.8, 2)], 0.64),
        # the same, said in one: 0.4 x 1/2 + 0.5 x (0.9 + 0.8) / 2 + 0.1 x 2/5 = 0.2 + 0.425 + 0.04
        ([chunk("a", "both", 0.9, 1), chunk("b", "knn", 0.8, 2)], 0.665),
        # a score of 0 counts: 0.4 x 0/2 + 0.5 x (0.8 + 0) / 2 + 0.1 x 0/5
        ([chunk("a", "bm25", 0.8), chunk("b", "bm25", 0.0)], 0.2),
        # a missing one does not: 0.5 x 0.8 / 1
        ([chunk("a", "bm25", 0.8), chunk("b", "bm25")], 0.4),
        # page 0 is a page: 0.1 x 2/5
        ([chunk("a", page=0), chunk("b", page=1)], 0.04),
        # six pages are as good as five: 0.1 x 1
        ([chunk(str(n), page=n) for n in range(6)], 0.1),
        # above 1 is 1, below 0 is 0: 0.5 x (1 + 0) / 2
        ([chunk("a", "bm25", 14.2), chunk("b", "knn", -0.3)], 0.25),
        # all that there is: 0.4 x 5/5 + 0.5 x 1 + 0.1 x 5/5
        ([chunk(str(n), "both", 1.0, n) for n in range(5)], 1.0),
        # a method of another name is in neither set: 0.4 x 0/1
        ([chunk("a", "rerank"), chunk("b", "bm25")], 0.0),
    ],
)
def test_relevance_weighs_intersection_score_and_diversity(chunks: list[dict[str, Any]], value: float) -> None:
    found = context_relevance(chunks)
    assert found.value == pytest.approx(value, abs=1e-12)
    assert (found.label, found.metric_type, found.reason) == ("context_relevance", "score", None)


@pytest.mark.spec("4.10", "4.27")
@pytest.mark.parametrize(
    ("numbers", "value"),
    [
        ((1, 2, 3), 1.0),  # 3 / min(10, 3)
        ((1, 2, 15), 0.667),  # 2 / 3 = 0.66666...
        ((10, 11), 0.5),  # the tenth is at the top, the eleventh is not
        ((1, 1, 1, 12), 0.5),  # each chunk once: 1 / 2
        (tuple(range(1, 21)), 1.0),  # 10 / min(10, 20)
        (tuple(range(11, 31)), 0.0),  # 0 / 10
        ((None, 4), 1.0),
    ],
)
def test_precision_is_the_share_of_cited_chunks_at_the_top(numbers: tuple[int | None, ...], value: float) -> None:
    assert context_precision(citing(*numbers)).value == value


@pytest.mark.spec("4.10")
def test_chunks_are_numbered_from_1() -> None:
    with pytest.raises(ValidationError, match="chunk_number"):
        context_precision(citing(0))


TEN = [chunk(str(n), "bm25" if n < 6 else "knn") for n in range(10)]


@pytest.mark.spec("4.12", "4.13", "4.14", "4.15")
@pytest.mark.parametrize(
    ("cited", "retrieval", "value", "warning"),
    [
        ((1, 2, 3, 4, 5, 6, 7, 8), {}, 0.8, None),  # 8 / 10
        ((1, 1, 2), {}, 0.2, None),  # two chunks: 2 / 10
        ((), {}, 0.0, None),
        ((1, 2, 3, 11), {}, 0.3, None),  # there is no chunk 11
        ((1, 2, 3, 4, 5), {"bm25_limit": 6}, 0.35, "HIT_RETRIEVAL_LIMIT"),  # 0.5 x 0.7
        ((1, 2, 3, 4, 5), {"knn_limit": 4}, 0.35, "HIT_RETRIEVAL_LIMIT"),
        ((1, 2, 3, 4, 5), {"bm25_limit": 7, "knn_limit": 5}, 0.5, None),
        ((1, 2, 3, 4, 5), {"total_before_filter": 21}, 0.425, "HIGH_THRESHOLD_FILTERING"),  # 10/21 < 0.5: 0.5 x 0.85
        ((1, 2, 3, 4, 5), {"total_before_filter": 20}, 0.5, None),  # 10/20 is not under 0.5
        ((1, 2, 3, 4, 5), {"total_before_filter": 0}, 0.5, None),  # 10 / max(0, 1)
        # the limit goes before the filtering: 0.5 x 0.7
        ((1, 2, 3, 4, 5), {"bm25_limit": 6, "total_before_filter": 99}, 0.35, "HIT_RETRIEVAL_LIMIT"),
        ((1, 2, 3, 4, 5, 6, 7), {"knn_limit": 1}, 0.49, "HIT_RETRIEVAL_LIMIT"),  # 0.7 x 0.7
    ],
)
def test_recall_is_the_share_of_cited_chunks_less_what_a_warning_costs(
    cited: tuple[int, ...], retrieval: dict[str, int], value: float, warning: str | None
) -> None:
    assert context_recall_heuristic(citing(*cited), TEN, retrieval).value == value
    assert recall_warning(TEN, retrieval).value == warning


@pytest.mark.spec("4.15")
def test_a_chunk_that_two_methods_found_is_one_chunk_and_counts_for_both_limits() -> None:
    twice = [chunk("a", "bm25"), chunk("a", "knn"), chunk("b", "knn")]
    assert context_recall_heuristic(citing(1), twice).value == 0.5  # 1 / 2
    assert recall_warning(twice, {"knn_limit": 2}).value == "HIT_RETRIEVAL_LIMIT"
    assert recall_warning([chunk("a", "both"), chunk("b", "knn")], {"bm25_limit": 1}).value == "HIT_RETRIEVAL_LIMIT"


@pytest.mark.spec("4.8")
def test_chunks_without_an_id_are_all_different() -> None:
    nameless = [Chunk(text="t", retrieval_method="both")] * 4
    assert context_recall_heuristic(citing(1), nameless).value == 0.25
    assert context_relevance(nameless).value == pytest.approx(0.4)


@pytest.mark.spec("4.18", "4.19")
@pytest.mark.parametrize(
    ("cited", "retrieval", "threshold", "asks"),
    [
        (range(1, 8), None, 0.7, False),  # 0.7 is not under 0.7
        (range(1, 7), None, 0.7, True),
        (range(1, 7), None, 0.6, False),
        (range(1, 11), Retrieval(bm25_limit=6), 0.7, True),  # 1.0 x 0.7, and a limit was hit
        (range(1, 11), Retrieval(bm25_limit=6), 0.0, True),
        ((), None, 0.0, False),
    ],
)
def test_a_model_is_asked_where_recall_is_low_or_a_limit_was_hit(
    cited: Any, retrieval: Retrieval | None, threshold: float, asks: bool
) -> None:
    heuristic = context_recall_heuristic(citing(*cited), TEN, retrieval)
    assert escalates(heuristic, recall_warning(TEN, retrieval), threshold) is asks


@pytest.mark.spec("4.18")
def test_without_chunks_no_model_is_asked() -> None:
    assert not escalates(context_recall_heuristic([], []), recall_warning([]))


@pytest.mark.spec("4.16")
def test_a_models_recall_is_its_score() -> None:
    assert context_recall_llm(RecallAnswer(score=0.0, missing=("the dose",))).value == 0.0
    assert context_recall_llm({"score": 0.8}).value == 0.8
    assert context_recall_llm(None, "the question was not answered: timeout").reason == (
        "the question was not answered: timeout"
    )


@pytest.mark.spec("4.21", "4.22")
@pytest.mark.parametrize(
    ("sources", "given", "value"),
    [
        (valued("a", confidence=0.83), None, 0.83),  # one source: its own
        (valued("a", confidence=0.0), None, 0.0),  # 0 is a confidence
        (valued("a"), None, 0.7),  # neither
        (valued("a", confidence=0.83), "LOW", 0.83),
        (valued("a", "a", confidence=0.2), None, 0.9),  # unanimous: HIGH
        (valued("a", "a", "a", "b"), None, 0.75),  # 3/4: majority, MEDIUM
        (valued("a", "a", "b"), None, 0.5),  # 2/3: mixed, LOW
        (valued("a", "b", "c"), None, 0.5),  # 1/3: conflicting, LOW
        (valued("a", "b"), "HIGH", 0.9),
        (valued("a", "b"), "MEDIUM", 0.75),
        (valued("a", "b"), "LOW", 0.5),
        (valued("a", "a"), "of another kind", 0.7),
        (valued(0, confidence=0.4), None, 0.4),  # 0 was found
        (valued(None, "a", confidence=0.4), None, 0.4),  # one source: None is none
    ],
)
def test_confidence_is_that_of_one_source_or_of_the_agreement_of_several(
    sources: list[dict[str, Any]], given: str | None, value: float
) -> None:
    assert aggregated_confidence(sources, given).value == value


@pytest.mark.spec("4.23")
@pytest.mark.parametrize(
    ("verdicts", "value"),
    [
        ((True,), "pass"),
        ((False,), "fail"),
        ((True, False), "pass"),  # 0.5 is enough
        ((True, False, False), "fail"),  # 1/3
        ((True, None, None), "pass"),  # what has no evidence does not count
        ((None, None), "skipped"),
        ((), "skipped"),
    ],
)
def test_validation_passes_where_half_of_what_could_be_validated_did(
    verdicts: tuple[bool | None, ...], value: str
) -> None:
    assert semantic_validation([Extraction(value="x", validated=one) for one in verdicts]).value == value


def test_what_was_not_validated_yet_is_compared_with_its_evidence() -> None:
    assert semantic_validation([{"value": 1250, "evidence": "we enrolled 1,250 adults"}]).value == "pass"
    assert semantic_validation([{"value": 1251, "evidence": "we enrolled 1,250 adults"}]).value == "fail"
    assert semantic_validation([{"value": 0, "evidence": "0 deaths"}]).value == "pass"
    assert semantic_validation([{"value": "x", "evidence": " "}]).value == "skipped"


@pytest.mark.spec("4.25", "4.26", "4.27")
@pytest.mark.parametrize(
    ("values", "agreement", "pattern"),
    [
        (("a", "a"), 1.0, "unanimous"),
        (("a",) * 19 + ("b",), 0.95, "majority"),  # 19/20 is not above 0.95
        (("a",) * 20 + ("b",), 0.952, "unanimous"),  # 20/21 = 0.95238...
        (("a", "a", "a", "b"), 0.75, "majority"),
        (("a",) * 7 + ("b",) * 3, 0.7, "mixed"),  # 7/10 is not above 0.7
        (("a", "a", "b"), 0.667, "mixed"),
        (("a", "b"), 0.5, "mixed"),
        (("a", "a", "b", "c", "d"), 0.4, "conflicting"),  # 2/5 is not above 0.4
        (("a", "b", "c"), 0.333, "conflicting"),
        ((0, 0, 1), 0.667, "mixed"),  # 0 counts
        ((False, False, True), 0.667, "mixed"),  # and so do False
        (("", "", "a"), 0.667, "mixed"),  # and the empty text
        ((3, 3.0), 1.0, "unanimous"),  # one number
        ((1, True), 0.5, "mixed"),  # a boolean is no number
        (("3", 3), 0.5, "mixed"),
        ((None, "a", "a"), 1.0, "unanimous"),  # None is no value
        (([1, 2], [1, 2], {"a": 1}), 0.667, "mixed"),
        (({"a": 1, "b": 2}, {"b": 2, "a": 1}), 1.0, "unanimous"),
    ],
)
def test_agreement_is_the_share_of_the_most_common_value(
    values: tuple[Any, ...], agreement: float, pattern: str
) -> None:
    assert multi_source_agreement(valued(*values)).value == agreement
    assert agreement_pattern(valued(*values)).value == pattern


@pytest.mark.spec("4.2")
@pytest.mark.parametrize(
    ("found", "reason"),
    [
        (context_relevance([]), "no chunks"),
        (context_precision([]), "no extraction cites a chunk"),
        (context_precision(citing(None)), "no extraction cites a chunk"),
        (context_recall_heuristic(citing(1), []), "no chunks"),
        (context_recall_llm(None), "not asked: the heuristic is not below the threshold, and no limit was hit"),
        (recall_warning([]), "no chunks"),
        (recall_warning(TEN), "the limits and the total of the search are missing"),
        (recall_warning(TEN, {"bm25_limit": 50}), "no cause for a warning"),
        (aggregated_confidence([]), "nothing was extracted"),
        (aggregated_confidence(valued(None, confidence=0.9)), "nothing was extracted"),
        (multi_source_agreement([]), "fewer than two sources"),
        (multi_source_agreement(valued("a", None)), "fewer than two sources"),
        (agreement_pattern(valued("a")), "fewer than two sources"),
    ],
)
def test_where_there_is_no_value_there_is_a_reason(found: Evaluation, reason: str) -> None:
    assert (found.value, found.reason) == (None, reason)


@pytest.mark.spec("4.1")
def test_all_nine_are_public_under_their_names() -> None:
    nine = {
        *("context_relevance", "context_precision", "context_recall_heuristic", "context_recall_llm"),
        *("recall_warning", "aggregated_confidence", "semantic_validation"),
        *("multi_source_agreement", "agreement_pattern"),
    }
    assert nine <= set(evaluation.__all__)
    labels = {
        context_relevance(TEN).label,
        context_precision([]).label,
        context_recall_heuristic([], TEN).label,
        context_recall_llm(None).label,
        recall_warning(TEN).label,
        aggregated_confidence([]).label,
        semantic_validation([]).label,
        multi_source_agreement([]).label,
        agreement_pattern([]).label,
    }
    assert labels == nine


methods = st.sampled_from(["bm25", "knn", "both", "other", None])
chunks = st.lists(
    st.builds(
        chunk,
        st.sampled_from("abcdef"),
        methods,
        st.none() | st.floats(allow_nan=False, allow_infinity=False),
        st.none() | st.integers(0, 9) | st.text(max_size=2),
    ),
    max_size=12,
)
numbers = st.lists(st.none() | st.integers(1, 30), max_size=30)
retrievals = st.fixed_dictionaries(
    {},
    optional={"bm25_limit": st.integers(1, 9), "knn_limit": st.integers(1, 9), "total_before_filter": st.integers(0)},
)
values = st.lists(st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from(["", "a", "b"]), max_size=30)


@pytest.mark.spec("4.2")
@given(chunks, numbers, retrievals, values)
def test_every_score_is_from_0_to_1_and_every_metric_says_something(
    given_chunks: list[dict[str, Any]], cited: list[int | None], retrieval: dict[str, int], found: list[Any]
) -> None:
    for one in (  # an `Evaluation` refuses a score outside of 0 to 1, and one without value and reason
        context_relevance(given_chunks),
        context_precision(citing(*cited)),
        context_recall_heuristic(citing(*cited), given_chunks, retrieval),
        recall_warning(given_chunks, retrieval),
        aggregated_confidence(valued(*found)),
        semantic_validation(valued(*found, evidence="a 1 2")),
        multi_source_agreement(valued(*found)),
        agreement_pattern(valued(*found)),
    ):
        assert one.metric_type in ("score", "categorical")


@pytest.mark.spec("4.7")
@given(chunks, st.integers(0, 11), st.floats(0, 10))
def test_relevance_never_falls_with_a_chunks_score(given_chunks: list[dict[str, Any]], place: int, more: float) -> None:
    scored = [one | {"score": one["score"] or 0.0} for one in given_chunks]
    if place >= len(scored):
        return
    higher = [one | {"score": one["score"] + more} if n == place else one for n, one in enumerate(scored)]
    before, after = context_relevance(scored).value, context_relevance(higher).value
    assert isinstance(before, float)
    assert isinstance(after, float)
    assert after >= before - 1e-12


@pytest.mark.spec("4.12")
@given(st.lists(st.integers(1, 10), max_size=20), st.integers(1, 10), retrievals)
def test_recall_never_falls_with_another_citation_and_never_rises_with_a_warning(
    cited: list[int], more: int, retrieval: dict[str, int]
) -> None:
    before = context_recall_heuristic(citing(*cited), TEN, retrieval).value
    after = context_recall_heuristic(citing(*cited, more), TEN, retrieval).value
    unwarned = context_recall_heuristic(citing(*cited), TEN).value
    assert isinstance(before, float)
    assert isinstance(after, float)
    assert isinstance(unwarned, float)
    assert before <= after
    assert before <= unwarned


@pytest.mark.spec("4.25")
@given(st.integers(2, 30), st.data())
def test_agreement_falls_when_one_of_equal_values_is_changed(count: int, data: st.DataObject) -> None:
    changed = data.draw(st.integers(0, count - 1))
    before = multi_source_agreement(valued(*["a"] * count)).value
    after = multi_source_agreement(valued(*["b" if n == changed else "a" for n in range(count)])).value
    assert before == 1.0
    assert isinstance(after, float)
    assert after < 1.0


@given(values, st.randoms())
def test_agreement_does_not_depend_on_the_order(found: list[Any], draw: Any) -> None:
    shuffled = list(found)
    draw.shuffle(shuffled)
    assert multi_source_agreement(valued(*found)) == multi_source_agreement(valued(*shuffled))
