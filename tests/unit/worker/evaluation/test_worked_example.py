"""A worked example of the nine metrics, from the item to its nine figures."""

from typing import Any

import pytest

from tamis_schemas import Extract, ExtractionDetail
from tamis_worker.operations import program_of
from tamis_worker.operations.answer_model import Decided
from tamis_worker.operations.program import Answered

TEXTS = (
    "We enrolled 1,250 adults in nine hospitals.",
    "In all, 1,250 patients were randomised.",
    "Of the 1,250 randomised, 1,198 completed the trial.",
    "Aspirin was given daily for two years.",
    "The sample was planned to hold 1,400 patients.",
)
METHODS = ("both", "both", "bm25", "knn", "knn")
SCORES = (0.92, 0.88, 0.71, 0.64, 0.55)
PAGES = (3, 4, 6, 5, 2)
ITEM: dict[str, Any] = {
    "id": "nct-1",
    "title": "Aspirin trial",
    "chunks": [
        {"chunk_id": f"c{n}", "text": text, "score": score, "page": page, "retrieval_method": method}
        for n, (text, method, score, page) in enumerate(zip(TEXTS, METHODS, SCORES, PAGES, strict=True), 1)
    ],
    "retrieval": {"bm25_limit": 50, "knn_limit": 4, "total_before_filter": 12},
}
CITED = (
    (1, "We enrolled 1,250 adults", 1250, 0.9),
    (2, "1,250 patients were randomised", 1250, 0.98),
    (3, "Of the 1,250 randomised", 1250, 0.95),
    (5, "The sample was planned to hold 1,400 patients", 1400, 0.4),
)


def test_the_figures_of_the_example() -> None:
    asking = program_of(Extract(instruction="How many participants were randomised?", output_type="number"), ITEM)
    (question,) = next(asking)
    names = ("chunk_number", "evidence", "value", "confidence")
    extractions = [dict(zip(names, one, strict=True)) for one in CITED]
    answer = {"reasoning": "r", "extractions": extractions, "value": 1250, "confidence": 0.95}
    (of_recall,) = asking.send((Answered(question.parse(answer)),))  # a limit was hit
    with pytest.raises(StopIteration) as over:
        asking.send((Answered(of_recall.parse({"missing": [], "score": 0.9})),))
    decided = over.value.value
    assert isinstance(decided, Decided)
    assert {one.label: one.value for one in decided.evaluations} == {
        "context_relevance": pytest.approx(0.63),  # 0.4 x 2/5 + 0.5 x 3.70/5 + 0.1 x 5/5
        "context_precision": 1.0,  # 4 / min(10, 4)
        "context_recall_heuristic": 0.56,  # 4/5 x 0.7
        "context_recall_llm": 0.9,
        "recall_warning": "HIT_RETRIEVAL_LIMIT",  # KNN: c1, c2, c4, c5, of 4 at most
        "aggregated_confidence": 0.75,  # majority: MEDIUM
        "semantic_validation": "pass",  # 4/4
        "multi_source_agreement": 0.75,  # 3/4
        "agreement_pattern": "majority",
    }
    assert isinstance(decided.detail, ExtractionDetail)
    assert decided.detail.fields[""].average_rank == 2.8  # (1 + 2 + 3 + 5) / 4 = 2.75
