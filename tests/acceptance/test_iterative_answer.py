"""The iterative answer service of spec 2, through a real broker, ledger and worker."""

import asyncio
import inspect
from typing import Any

import pytest

from llm_double import Fault, Kind, Scripted
from stage import House
from stage.written import written_batches
from tamis_producer import Client, IterativeAnswerService
from tamis_schemas import (
    AnswerEvaluation,
    ErrorKind,
    InvalidParameters,
    IterationData,
    OperationFailed,
    WaitTimeout,
)

QUESTION: dict[str, Any] = {
    "instruct": "Explain quantum computing",
    "resp_format": "A 3-paragraph explanation suitable for high school students",
    "eval_crit": "Must use analogies, avoid jargon, and include a practical example",
}
DRAFTS = ("first draft", "second draft", "third draft")


@pytest.fixture
def service(house: House) -> IterativeAnswerService:
    return IterativeAnswerService(client=house.fresh().client, timeout=60)


def evaluated(score: float) -> dict[str, Any]:
    return {
        "evaluation_reasoning": f"worth {score}",
        "score": score,
        "meets_criteria": score >= 0.9,
        "improvement_suggestions": ["Add a real-world application example"],
    }


def script(house: House, *scores: float, faults: tuple[Fault, ...] = ()) -> None:
    """One draft after the other, each with its score; the feedback of a draft leads to the next one."""
    drafts = DRAFTS[: len(scores)]
    evaluations = [
        Scripted(f"Answer to Evaluate:\n{draft}", evaluated(score)) for draft, score in zip(drafts, scores, strict=True)
    ]
    refined = [
        Scripted(f"Evaluation: worth {score}\n", {"answer": draft})
        for draft, score in zip(drafts[1:], scores[:-1], strict=True)
    ]
    first = Scripted("Instruction: Explain quantum computing", {"answer": drafts[0]})
    house.double.script(answers=[*evaluations, *refined, first], faults=faults)


def iteration(number: int, score: float) -> IterationData:
    return IterationData(
        iteration_number=number, answer=DRAFTS[number - 1], evaluation=AnswerEvaluation(**evaluated(score))
    )


@pytest.mark.spec("2.1", "2.13", "2.16", "2.17")
async def test_the_example_of_spec_2_is_accepted_at_the_threshold(
    house: House, service: IterativeAnswerService
) -> None:
    script(house, 0.7, 0.85, 1.0)
    result = await service.generate_answer(
        instruct="Explain quantum computing",
        resp_format="A 3-paragraph explanation suitable for high school students",
        eval_crit="Must use analogies, avoid jargon, and include a practical example",
        iter_max=5,
        score_threshold=0.85,
    )
    assert result == {
        "final_answer": "second draft",
        "iterations": [iteration(1, 0.7), iteration(2, 0.85)],
        "success": True,
        "total_iterations": 2,
        "final_score": 0.85,
    }
    assert house.double.count() == 4  # two generated, two evaluated


@pytest.mark.spec("2.6")
async def test_a_failed_attempt_is_refined_with_its_feedback(house: House, service: IterativeAnswerService) -> None:
    script(house, 0.7, 0.9)
    await service.generate_answer(**QUESTION)
    told = house.double.calls()[2].messages[1]["content"]
    assert told == (
        "Instruction: Explain quantum computing\n\n"
        "Response Format: A 3-paragraph explanation suitable for high school students\n\n"
        "Previous Attempt Feedback:\n"
        "Score: 0.7\nEvaluation: worth 0.7\n\nImprovement Suggestions:\n1. Add a real-world application example\n"
    )


@pytest.mark.spec("2.7", "2.18")
async def test_at_the_last_iteration_the_best_answer_is_returned_not_the_last(
    house: House, service: IterativeAnswerService
) -> None:
    script(house, 0.3, 0.6, 0.5)
    result = await service.generate_answer(**QUESTION, iter_max=3)
    assert (result["final_answer"], result["final_score"]) == ("second draft", 0.6)
    assert (result["success"], result["total_iterations"]) == (False, 3)
    assert result["iterations"] == [iteration(1, 0.3), iteration(2, 0.6), iteration(3, 0.5)]


@pytest.mark.spec("2.15")
async def test_a_threshold_of_0_is_a_threshold_and_accepts_the_first_answer(
    house: House, service: IterativeAnswerService
) -> None:
    script(house, 0.0, 1.0)
    result = await service.generate_answer(**QUESTION, score_threshold=0.0)
    assert (result["final_answer"], result["success"], result["total_iterations"]) == ("first draft", True, 1)


@pytest.mark.spec("2.15")
@pytest.mark.parametrize(("threshold", "iterations"), [(0.7, 1), (0.71, 2), (0.0, 1)])
async def test_the_threshold_of_the_service_counts_where_the_call_names_none(
    house: House, threshold: float, iterations: int
) -> None:
    house.fresh()
    script(house, 0.7, 1.0)
    service = IterativeAnswerService(threshold, client=house.client, timeout=60)
    assert (await service.generate_answer(**QUESTION))["total_iterations"] == iterations


@pytest.mark.spec("2.14")
def test_the_threshold_is_0_8_where_nobody_names_one() -> None:
    assert IterativeAnswerService().score_threshold == 0.8  # and nothing connects


async def test_an_iteration_that_fails_is_recorded_and_the_next_one_goes_on(
    house: House, service: IterativeAnswerService
) -> None:
    script(house, 0.9, faults=(Fault(Kind.REFUSAL, contains="Answer to Evaluate:\nfirst draft", limit=1),))
    result = await service.generate_answer(**QUESTION)
    failed, accepted = result["iterations"]
    assert (failed.iteration_number, failed.answer, failed.evaluation) == (1, "first draft", None)
    assert failed.error_kind is ErrorKind.REFUSED
    assert failed.error
    assert accepted == iteration(2, 0.9).model_copy(update={"answer": "first draft"})
    assert (result["success"], result["total_iterations"]) == (True, 2)


@pytest.mark.spec("2.29")
async def test_without_any_evaluated_attempt_the_operation_fails_with_kind_and_message(
    house: House, service: IterativeAnswerService
) -> None:
    script(house, 0.9, faults=(Fault(Kind.REFUSAL),))
    with pytest.raises(OperationFailed, match="refused: none of 2 attempts could be evaluated"):
        await service.generate_answer(**QUESTION, iter_max=2)


@pytest.mark.spec("2.30")
async def test_parallel_attempts_are_made_side_by_side_in_each_iteration(
    house: House, service: IterativeAnswerService
) -> None:
    script(house, 0.4)
    house.double.script(latency=0.4)
    result = await service.generate_answer(**QUESTION, iter_max=1, parallel_attempts=3)
    assert [(data.iteration_number, data.attempt) for data in result["iterations"]] == [(1, 1), (1, 2), (1, 3)]
    assert result["total_iterations"] == 1
    assert max(call.in_flight for call in house.double.calls()) == 3


@pytest.mark.spec("2.24")
async def test_the_model_of_the_call_is_asked_else_the_workers_own(
    house: House, service: IterativeAnswerService
) -> None:
    script(house, 0.9)
    await service.generate_answer(**QUESTION, model="other-1")
    await service.generate_answer(**QUESTION)
    assert [call.model for call in house.double.calls()] == ["other-1", "other-1", "double-1", "double-1"]


@pytest.mark.spec("2.2")
def test_the_parameters_are_those_of_spec_2() -> None:
    parameters = inspect.signature(IterativeAnswerService.generate_answer).parameters
    assert {name: parameter.default for name, parameter in list(parameters.items())[4:]} == {
        "iter_max": 3,
        "model": None,  # spec 2 has "gpt-4o"
        "score_threshold": None,
        "parallel_attempts": 1,
        "fresh": False,  # spec 2 has no cache
    }
    assert list(parameters)[1:4] == ["instruct", "resp_format", "eval_crit"]


@pytest.mark.spec("2.23")
@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"instruct": " "}, "instruct"),
        ({"iter_max": 0}, "iter_max"),
        ({"iter_max": 11}, "iter_max"),
        ({"score_threshold": 85}, r"not 85\.0"),
        ({"parallel_attempts": 0}, "parallel_attempts"),
    ],
    ids=str,
)
async def test_a_wrong_parameter_is_an_error_and_nothing_is_written(
    client: Client, changes: dict[str, Any], said: str
) -> None:
    with pytest.raises(InvalidParameters, match=said):
        await IterativeAnswerService(client=client, timeout=5).generate_answer(**QUESTION | changes)
    assert written_batches(client) == []


def test_a_threshold_of_the_service_that_is_none_is_an_error_at_once() -> None:
    with pytest.raises(InvalidParameters, match=r"0\.8 for 80 %"):
        IterativeAnswerService(80)


async def test_waiting_ends_at_the_timeout(client: Client) -> None:
    service = IterativeAnswerService(client=client, timeout=0.2)
    with pytest.raises(WaitTimeout, match="0 of 1 items done"):
        await asyncio.wait_for(service.generate_answer(**QUESTION), 20)
