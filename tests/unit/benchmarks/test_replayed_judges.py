"""A judge is replayed as it answered: its decision stands, and its tokens give its probability."""

import json
from pathlib import Path

import pytest
from benchmarks.replayed_judges import Judgement, answer, recorded_judgements, simulated_judgements, write_answers
from benchmarks.simulated_judges import Kind

from stage.shared_data import needs_real_records
from tamis_schemas import EvaluationResult, Inclusion, InclusionStatus, SearchCriteria
from tamis_worker.operations.inclusion import messages, parse

OPERATION = Inclusion(
    criteria=SearchCriteria(
        research_question="Does walking help?", inclusion_criteria=["Adults", "A trial"], exclusion_criteria=["Animals"]
    )
)
ITEM = {"id": "a", "title": "Walking", "abstract": "They walked.", "_label": "1"}


@pytest.mark.parametrize(
    ("judgement", "status", "confidence"),
    [
        (Judgement(included=True, probability=0.8312, rationale="fits"), InclusionStatus.INCLUDE, 0.83),
        (Judgement(included=False, probability=0.004, rationale="no trial"), InclusionStatus.EXCLUDE, 1.0),
        # the less likely token was drawn
        (Judgement(included=False, probability=0.57, rationale="no trial"), InclusionStatus.EXCLUDE, 0.43),
    ],
)
def test_tamis_reads_the_decision_that_the_judge_made(
    judgement: Judgement, status: InclusionStatus, confidence: float
) -> None:
    entry = answer(OPERATION, ITEM, judgement)
    decided = parse(OPERATION, ITEM, json.loads(entry["content"]))
    result = decided.result
    assert isinstance(result, EvaluationResult)
    assert (result.value, result.reasoning) == (status.value, judgement.rationale)
    assert result.confidence == pytest.approx(confidence)
    at, tokens = entry["decision"]["at"], entry["decision"]["tokens"]
    assert entry["content"].startswith(status.value, at)
    assert tokens == {"include": judgement.probability, "exclude": pytest.approx(1 - judgement.probability)}


def test_a_record_is_known_by_what_its_prompt_shows(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    same = {**ITEM, "id": "b"}
    said = [Judgement(included, 0.5, "drawn") for included in (True, False, True)]
    write_answers(path, OPERATION, [ITEM, same, {"id": "c", "title": "Running"}], said)
    first, second = map(json.loads, path.read_text("utf-8").splitlines())
    assert messages(OPERATION, {"title": "Walking", "abstract": "They walked."})[-1].content.endswith(first["data"])
    assert (json.loads(first["content"])["status"], second["data"]) == ("include", "title: Running")


def test_simulated_judges_say_what_was_drawn() -> None:
    labels = [place % 10 == 0 for place in range(400)]
    one, other = simulated_judgements(labels, Kind(auc=0.95, judges=2), 3)
    assert all(said.included is (said.probability >= 0.5) for said in one)
    right = sum(said.included is label for said, label in zip(one, labels, strict=True))
    # d = 2.33, the cut lies at d / 2: Phi(1.16) = 0.877 of 400, standard deviation 6.6
    assert right == pytest.approx(351, abs=20)
    assert [said.probability for said in one] != [said.probability for said in other]


@needs_real_records
def test_the_recorded_answers_are_those_of_the_file() -> None:
    said = recorded_judgements()
    # 2,477 answers, of which 96 + 193 include (its README's columns, counted)
    assert (len(said), sum(one.included for one in said)) == (2_477, 289)
    assert said[13].probability == 1.0
    assert said[0].probability == pytest.approx(1 - 0.999952960454394)
    assert all(one.rationale for one in said)
