"""Every operation of the specifications runs as one task per item, and in a batch."""

from typing import Any

import pytest

from llm_double import Scripted
from stage import House, abstracts
from tamis_review import judge_items
from tamis_schemas import (
    Answer,
    AnswerResult,
    Extract,
    ExtractFields,
    FieldsResult,
    Filter,
    Judge,
    Judgement,
    Operation,
    Score,
)

SCHEMA = {
    "type": "object",
    "properties": {"study_type": {"type": "string"}, "sample_size": {"type": "integer"}},
    "required": ["study_type"],
}


@pytest.mark.spec("1.3")
@pytest.mark.parametrize(
    ("operation", "kind"),
    [
        (Score(criteria="Rate it"), float),
        (Score(criteria="Rate it", min_value=1, max_value=10, interval=0.5), float),
        (Extract(instruction="What is it?"), str | None),
        (Extract(instruction="How many?", output_type="number"), int | float | None),
        (Extract(instruction="Is it?", output_type="boolean"), bool | None),
        (Extract(instruction="Which?", output_type="enum", enum_values=["RCT", "cohort"]), str | None),
        (ExtractFields(schema=SCHEMA, instructions="Extract"), dict),
    ],
    ids=lambda value: getattr(value, "operation", ""),
)
def test_each_item_gets_a_value_of_its_operations_kind(house: House, operation: Operation, kind: Any) -> None:
    client = house.fresh().client
    batch = client.submit(operation, abstracts(6))
    counts = batch.wait(timeout=60)
    assert counts.decided == 6
    for row in batch.results():
        assert row.result is not None
        value = row.result.fields if isinstance(row.result, FieldsResult) else row.result.value
        assert isinstance(value, kind)
        assert row.result.error is None
        assert row.result.reasoning
    summary = batch.summary()
    assert summary is not None
    assert summary.operation == operation.operation
    assert summary.values == {}
    assert summary.pass_rate.total == 0


def test_a_score_off_its_grid_is_repaired(house: House) -> None:
    client, double = house.client, house.fresh().double
    double.script(answers=[Scripted("cannot be used", {"reasoning": "r", "value": 7.5, "confidence": 1.0})])
    double.script(
        answers=[
            Scripted("cannot be used", {"reasoning": "r", "value": 7.5, "confidence": 1.0}),
            Scripted("Rate it", {"reasoning": "r", "value": 7.3, "confidence": 1.0}),
        ]
    )
    batch = client.submit(Score(criteria="Rate it", min_value=1, max_value=10, interval=0.5), abstracts(1))
    batch.wait(timeout=60)
    row = next(batch.results())
    assert row.result is not None
    assert row.result.value == 7.5
    assert double.count() == 2


@pytest.mark.spec("2.26", "2.32")
def test_an_answer_is_refined_until_it_is_good_enough(house: House) -> None:
    client, double = house.client, house.fresh().double
    low = {"evaluation_reasoning": "too short", "improvement_suggestions": ["say more"], "meets_criteria": False}
    high = {"evaluation_reasoning": "good", "improvement_suggestions": [], "meets_criteria": True}
    double.script(
        answers=[
            Scripted("Answer to Evaluate:\nsecond", high | {"score": 0.9}),
            Scripted("Answer to Evaluate:", low | {"score": 0.4}),
            Scripted("say more", {"answer": "second"}),
            Scripted("Explain it", {"answer": "first"}),
        ]
    )
    batch = client.submit(Answer(instruct="Explain it", resp_format="Text", eval_crit="Clear"), [{"id": "q"}])
    assert batch.wait(timeout=60).decided == 1
    row = next(batch.results())
    assert row.result is not None
    assert (row.result.value, row.result.confidence) == ("second", 0.9)
    history = AnswerResult.model_validate(row.detail)
    assert [one.answer for one in history.iterations] == ["first", "second"]
    assert history.success
    assert row.provenance is not None
    assert row.provenance.calls == 4 == double.count()


@pytest.mark.spec("2.31")
def test_parallel_attempts_do_not_share_one_kept_answer(house: House) -> None:
    client, double = house.client, house.fresh().double
    operation = Answer(instruct="Explain", resp_format="Text", eval_crit="x", iter_max=1, parallel_attempts=3)
    batch = client.submit(operation, [{"id": "q"}])
    batch.wait(timeout=60)
    assert double.count() >= 4  # three generations, and their evaluations as far as the answers differ


@pytest.mark.spec("5.38")
def test_the_results_of_a_batch_are_judged_against_their_records(house: House) -> None:
    client, double = house.client, house.fresh().double
    filtered = client.submit(Filter(criteria="Is it?"), abstracts(3))
    filtered.wait(timeout=60)
    weak = {"issue": "indirect", "evidence_type": "weak", "quality_score": 0.4, "is_valid": True}
    wrong = {"issue": "wrong kind", "evidence_type": "inappropriate", "quality_score": 0.0, "is_valid": False}
    double.script(answers=[Scripted("record number 1.", wrong), Scripted("record number", weak)])
    batch = client.submit(Judge(guidelines="Only direct statements count."), judge_items(filtered))
    assert batch.wait(timeout=60).decided == 3
    judgements = [Judgement.model_validate(row.detail) for row in batch.results()]
    assert [judgement.blocked for judgement in judgements] == [False, True, False]
    for before, after in zip(filtered.results(), judgements, strict=True):
        assert before.result is not None
        assert after.original_confidence == before.result.confidence
        # weak: x min(0.65, 0.4 + 0.25) = x 0.65; inappropriate: x 0
        factor = 0.0 if after.blocked else 0.65
        assert after.adjusted_confidence == pytest.approx(before.result.confidence * factor)
    summary = batch.summary()
    assert summary is not None
    assert summary.values == {"inappropriate": 1, "weak": 2}
