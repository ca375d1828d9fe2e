"""The program of a panel: several models answer the operation's question, and their verdicts make one decision.

Each model's answer is read, and its quotes are verified, as if only that model had been asked. The decision's
rationale, verdicts and exclusion reason come from the first model whose status equals the panel's status.
"""

from collections.abc import Sequence
from dataclasses import replace

from tamis_schemas import (
    EvaluationResult,
    Filter,
    InclusionDecision,
    InclusionStatus,
    Operation,
    PanelResult,
    PanelVerdict,
    UncertainReason,
)
from tamis_schemas.operations.panel import Panel, Vote, confidence_in, decision, disagreement, mean_score

from .answer_model import Decided
from .program import Answered, EvaluationFailed, OperationProgram, Question, Unanswered, ask

Result = Answered[Decided] | Unanswered


def panel_program(operation: Operation, panel: Panel, question: Question[Decided]) -> OperationProgram:
    """Ask all models `question`, and return the panel's decision.

    Raise `EvaluationFailed` if the missing verdict of a failed model could change the decision. The error has the
    verdicts of the models that answered.
    """
    results = yield from ask(*(replace(question, model=model) for model in panel.models))
    votes = _votes(results)
    words = _panel_result(panel, results, votes)
    status = decision(panel.policy, votes)
    if status is None:
        raise _failed(panel, results, words)
    return _decided(operation, status, results, words)


def _status(decided: Decided) -> InclusionStatus:
    result = decided.result
    assert isinstance(result, EvaluationResult)  # noqa: S101 - a panel is asked for a decision, never for fields
    if isinstance(result.value, bool):
        return InclusionStatus.INCLUDE if result.value else InclusionStatus.EXCLUDE
    return InclusionStatus(str(result.value))


def _verdict(model: str, result: Result) -> PanelVerdict:
    bill = result.bill
    common = {"model": model, "usage": bill.usage, "cost": bill.cost, "cached": bill.cached, "answered_by": bill.model}
    match result:
        case Unanswered(kind=kind, message=message):
            return PanelVerdict(**common, error_kind=kind, error=message)
        case Answered(value=decided):
            detail = decided.detail
            of_criteria = (
                {"verdicts": detail.verdicts, "exclusion_reason": detail.exclusion_reason}
                if isinstance(detail, InclusionDecision)
                else {}
            )
            outcome = {
                "confidence": decided.result.confidence,
                "reasoning": decided.result.reasoning,
                "probability": decided.probability,
                "relevance": decided.relevance,
            }
            return PanelVerdict(**common, **of_criteria, **outcome, status=_status(decided))


def _votes(results: Sequence[Result]) -> list[Vote | None]:
    verdicts = (_verdict("", result) for result in results)
    return [
        None if verdict.status is None or verdict.score is None else Vote(verdict.status, verdict.score)
        for verdict in verdicts
    ]


def _panel_result(panel: Panel, results: Sequence[Result], votes: Sequence[Vote | None]) -> PanelResult:
    there = [vote for vote in votes if vote is not None]
    return PanelResult(
        policy=panel.policy.value,
        verdicts=tuple(_verdict(model, result) for model, result in zip(panel.models, results, strict=True)),
        score=mean_score(there) if there else None,
        disagreement=disagreement([vote.status for vote in there]),
    )


def _failed(panel: Panel, results: Sequence[Result], words: PanelResult) -> EvaluationFailed:
    place, failure = next((place, result) for place, result in enumerate(results) if isinstance(result, Unanswered))
    return EvaluationFailed(failure.kind, f"{panel.models[place]}: {failure.message}", words)


def _decided(operation: Operation, status: InclusionStatus, results: Sequence[Result], words: PanelResult) -> Decided:
    if isinstance(operation, Filter) and status is InclusionStatus.UNCERTAIN:
        status = InclusionStatus.INCLUDE  # a filter has no third value: unclear records pass
    assert words.score is not None  # noqa: S101 - nothing is decided without a vote
    confidence = confidence_in(status, words.score)
    answers = [result.value for result in results if isinstance(result, Answered)]
    speaker = next((answer for answer in answers if _status(answer) is status), None)
    reasoning = words.words if speaker is None else speaker.result.reasoning
    value = status is not InclusionStatus.EXCLUDE if isinstance(operation, Filter) else status.value
    result = EvaluationResult(value=value, confidence=confidence, reasoning=reasoning)
    detail = None if isinstance(operation, Filter) else _decision(operation, status, confidence, speaker, words)
    relevance = _mean([answer.relevance for answer in answers])
    return Decided(
        result,
        detail,
        probability=_mean([answer.probability for answer in answers]),
        relevance=None if relevance is None else round(relevance),
        panel=words,
    )


def _mean(values: Sequence[float | None]) -> float | None:
    """Return the mean of the values; None if a value is missing, or there are no values."""
    numbers = [value for value in values if value is not None]
    return sum(numbers) / len(numbers) if numbers and len(numbers) == len(values) else None


def _decision(
    operation: Operation,
    status: InclusionStatus,
    confidence: float,
    speaker: Decided | None,
    words: PanelResult,
) -> InclusionDecision:
    """Return the decision of `speaker`, a model whose status equals the panel's, with the panel's confidence.

    If no model has the panel's status (`speaker` is None), the decision lists the criteria on which the models differ.
    """
    if speaker is not None and isinstance(speaker.detail, InclusionDecision):
        return speaker.detail.model_copy(update={"confidence": confidence})
    criteria = operation.criteria.labelled()  # type: ignore[union-attr]  # of the operations with a panel, an inclusion
    return InclusionDecision(
        status=status,
        confidence=confidence,
        rationale=words.words,
        criteria=[criterion.text for criterion in criteria if _differ(words, criterion.label)],
        uncertain_reason=UncertainReason.PANEL if status is InclusionStatus.UNCERTAIN else None,
    )


def _differ(words: PanelResult, label: str) -> bool:
    return len({verdict.verdicts[label].verdict for verdict in words.verdicts if label in verdict.verdicts}) > 1
