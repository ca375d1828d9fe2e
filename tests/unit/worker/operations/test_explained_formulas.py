"""What `tamis explain` writes out is what the operations work out: a formula that changes alone fails here."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis_review.explanation.document import because
from tamis_schemas import Inclusion, ItemResult, ItemStatus, Judge, Operation, SearchCriteria
from tamis_worker.operations import Decided, inclusion, judge
from tamis_worker.operations.evidence import QUALITY_OF
from tamis_worker.operations.judge import parse
from tamis_worker.operations.program import Answered

SCREENING = Inclusion(criteria=SearchCriteria(research_question="q", inclusion_criteria=["Adults", "A trial", "Walks"]))
RECORD = {"title": "Adults who walk uphill", "abstract": "A controlled trial of 40 hills and their walkers."}
QUOTES = (None, "Adults who walk uphill", "A controlled trial of 40 hills", "words that stand nowhere in this record")


def told(operation: Operation, ended: Decided) -> str:
    """Why the confidence is what it is."""
    inclusion_ = isinstance(operation, Inclusion)
    result = ItemResult(
        index=0,
        item_id="1",
        status=ItemStatus.DECIDED,
        item=RECORD,
        result=ended.result,
        decision=ended.detail if inclusion_ else None,
        detail=None if inclusion_ or ended.detail is None else ended.detail.model_dump(mode="json"),
    )
    return next(one.text for one in because(operation, result) if one.sets == "confidence")


@settings(max_examples=40)
@given(quotes=st.tuples(*[st.sampled_from(QUOTES)] * 3), confidence=st.sampled_from([0.0, 0.35, 0.9, 1.0]))
def test_the_confidence_after_quotes_is_told_by_the_formula_that_gave_it(
    quotes: tuple[str | None, ...], confidence: float
) -> None:
    verdicts = {f"I{n}": {"quote": quote, "verdict": "met"} for n, quote in enumerate(quotes, 1)}
    answer = {"rationale": "r", "verdicts": verdicts, "status": "include", "confidence": confidence}
    ended = inclusion.parse(SCREENING, RECORD, answer)
    said = told(SCREENING, ended)
    assert "another release" not in said
    unverified = sum(quote == QUOTES[-1] for quote in quotes)
    given_quotes = sum(quote is not None for quote in quotes)
    if unverified:
        assert f"x (1 - 0.5 x {unverified}/{given_quotes}) = " in said
    else:
        assert "as the model gave it" in said


@pytest.mark.parametrize("kind", sorted(QUALITY_OF))
def test_every_judgement_is_told_by_the_formula_that_gave_it(kind: str) -> None:
    operation = Judge(guidelines="g")
    item = {"value": "adult", "confidence": 0.9, "reasoning": "r", "context": "c"}
    for hundredths in range(0, 101, 5):
        program = judge.program(operation, item)
        next(program)
        answer = {"issue": None, "evidence_type": kind, "quality_score": hundredths / 100, "is_valid": True}
        with pytest.raises(StopIteration) as ended:
            program.send((Answered(parse(answer)),))
        assert "another release" not in told(operation, ended.value.value)
