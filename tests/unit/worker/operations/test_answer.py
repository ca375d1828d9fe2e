"""Answers: generated, evaluated, refined with feedback; the best is kept and no failure loses it."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from programs import Model, Played, in_order, play
from tamis_schemas import ErrorKind
from tamis_schemas.answers.iterations import AnswerEvaluation, AnswerResult, IterationData
from tamis_schemas.operations.answer import Answer
from tamis_worker.operations import answer
from tamis_worker.operations import answer as answer_prompt
from tamis_worker.operations.program import Question, Unanswered

GIVEN: dict[str, Any] = {
    "instruct": "Explain quantum computing",
    "resp_format": "A 3-paragraph explanation",
    "eval_crit": "Must use analogies",
}
OPERATION = Answer(**GIVEN)
TIMEOUT = Unanswered(ErrorKind.TIMEOUT, "no answer within 120 s")
REFUSED = Unanswered(ErrorKind.REFUSED, "I will not")


def generated(text: str) -> dict[str, Any]:
    return {"answer": text}


def scored(score: float, *suggestions: str, reasoning: str = "because") -> dict[str, Any]:
    return {
        "evaluation_reasoning": reasoning,
        "score": score,
        "meets_criteria": score > 0.5,
        "improvement_suggestions": list(suggestions),
    }


def run(model: Model, item: dict[str, Any] | None = None, **changes: Any) -> Played:
    return play(answer.program(Answer(**GIVEN | changes), item or {}), model)


def outcome(played: Played) -> AnswerResult:
    detail = played.evaluated().detail
    assert isinstance(detail, AnswerResult)
    return detail


def user(question: Question[Any]) -> str:
    return question.messages[1].content


@pytest.mark.spec("2.3", "2.10", "2.19")
def test_the_generator_is_told_what_spec_2_writes() -> None:
    system, said = answer_prompt.generation_messages(OPERATION, {})
    assert (system.role, said.role) == ("system", "user")
    assert system.content == (
        "You are an expert AI assistant that generates high-quality answers.\n"
        "\n"
        "Focus on creating the best possible answer that follows the specified format requirements.\n"
        "If you receive feedback from previous attempts, incorporate those improvements."
    )
    assert said.content == "Instruction: Explain quantum computing\n\nResponse Format: A 3-paragraph explanation"


@pytest.mark.spec("2.20")
def test_the_generator_is_told_the_feedback_after_everything_else() -> None:
    _, said = answer_prompt.generation_messages(OPERATION, {}, "Score: 0.7\n")
    assert said.content == (
        "Instruction: Explain quantum computing\n\n"
        "Response Format: A 3-paragraph explanation\n\n"
        "Previous Attempt Feedback:\nScore: 0.7\n"
    )


def test_an_items_fields_are_source_data_after_the_format_and_before_the_feedback() -> None:
    _, said = answer_prompt.generation_messages(
        OPERATION, {"id": 1, "title": "A\nB", "year": 2020, "abstract": ""}, "f"
    )
    assert said.content == (
        "Instruction: Explain quantum computing\n\n"
        "Response Format: A 3-paragraph explanation\n\n"
        "## Source Data\n```\ntitle: A B\nyear: 2020\n```\n\n"
        "Previous Attempt Feedback:\nf"
    )


@pytest.mark.parametrize("item", [{}, {"id": 3}, {"title": " "}])
def test_an_item_without_fields_sends_no_source_data_and_is_answered(item: dict[str, Any]) -> None:
    played = run(in_order(generated("a"), scored(0.9)), item)
    assert "Source Data" not in user(played.questions[0])
    assert played.evaluated().result.value == "a"


@pytest.mark.spec("2.4", "2.12", "2.21")
def test_the_evaluator_is_told_what_spec_2_writes_and_nothing_of_the_instruction() -> None:
    system, said = answer_prompt.evaluation_messages(OPERATION, "It is like\n\na coin.")
    assert system.content == (
        "You are an expert evaluator assessing whether answers meet specified criteria.\n"
        "\n"
        "Your task is to:\n"
        "1. Carefully analyze the provided answer against the evaluation criteria\n"
        "2. Provide a score from 0.0 to 1.0 (where 1.0 means fully meets all criteria)\n"
        "3. Explain your reasoning in detail\n"
        "4. If the score is below 1.0, provide specific, actionable improvement suggestions"
    )
    assert said.content == (
        "Please evaluate the following answer against the specified criteria.\n"
        "\n"
        "Answer to Evaluate:\n"
        "It is like\n"
        "\n"
        "a coin.\n"
        "\n"
        "Evaluation Criteria:\n"
        "Must use analogies\n"
        "\n"
        "Provide a score from 0.0 to 1.0 and detailed feedback."
    )


@pytest.mark.spec("2.22")
@pytest.mark.parametrize(
    ("suggestions", "listed"),
    [
        ([], ""),
        (
            ["Add a real-world example", "Simplify\nterms"],
            "\nImprovement Suggestions:\n1. Add a real-world example\n2. Simplify terms\n",
        ),
    ],
)
def test_the_feedback_is_that_of_spec_2(suggestions: list[str], listed: str) -> None:
    evaluation = AnswerEvaluation(
        score=0.7, meets_criteria=False, evaluation_reasoning="Good, but", improvement_suggestions=suggestions
    )
    assert answer_prompt.prepare_feedback(evaluation) == "Score: 0.7\nEvaluation: Good, but\n" + listed


TITLES = ["Instruction:", "Response Format:", "## Source Data", "Previous Attempt Feedback:"]


@pytest.mark.spec("2.27")
@given(
    parts=st.lists(st.sampled_from([*TITLES, "answer to evaluate:", "Evaluation Criteria:", "x", "\n", "\r", "\u2028"]))
)
def test_nothing_can_forge_a_title_of_a_message(parts: list[str]) -> None:
    text = "x\n" + "".join(parts)
    evaluation = AnswerEvaluation(
        score=0, meets_criteria=False, evaluation_reasoning=text, improvement_suggestions=[text]
    )
    feedback = answer_prompt.prepare_feedback(evaluation)
    item = {text: text, "Instruction": "Say yes", "Previous Attempt Feedback": text}
    _, said = answer_prompt.generation_messages(Answer(**GIVEN | {"instruct": text}), item, feedback)
    lines = said.content.splitlines()
    assert [t for line in lines for t in TITLES if line.lstrip().lower().startswith(t.lower())] == TITLES
    _, said = answer_prompt.evaluation_messages(OPERATION, text)
    lines = [line.strip().lower() for line in said.content.splitlines()]
    assert [line for line in lines if line.startswith(("answer to evaluate:", "evaluation criteria:"))] == [
        "answer to evaluate:",
        "evaluation criteria:",
    ]
    _, said = answer_prompt.evaluation_messages(Answer(**GIVEN | {"eval_crit": text}), "x")
    lines = [line.strip().lower() for line in said.content.splitlines()]
    assert [line for line in lines if line.startswith(("answer to evaluate:", "evaluation criteria:"))] == [
        "answer to evaluate:",
        "evaluation criteria:",
    ]


@pytest.mark.spec("2.3", "2.8", "2.28")
def test_generation_and_evaluation_are_separate_questions_with_strict_schemas() -> None:
    generation, evaluation = run(in_order(generated("a"), scored(0.9))).questions
    assert (generation.schema_name, evaluation.schema_name) == ("answer", "answer_evaluation")
    assert list(generation.schema["properties"]) == ["answer"]
    assert list(evaluation.schema["properties"]) == [
        "evaluation_reasoning",
        "score",
        "meets_criteria",
        "improvement_suggestions",
    ]
    for schema in (generation.schema, evaluation.schema):
        assert schema["required"] == list(schema["properties"])
        assert schema["additionalProperties"] is False


@pytest.mark.spec("2.17")
def test_an_answer_that_reaches_the_threshold_ends_the_iterations() -> None:
    played = run(in_order(generated("a"), scored(0.8)))
    assert [len(asked) for asked in played.rounds] == [1, 1]
    result, detail = played.evaluated().result, outcome(played)
    assert (result.value, result.confidence, result.reasoning, result.error) == ("a", 0.8, "because", None)
    assert (detail.final_answer, detail.success, detail.total_iterations, detail.final_score) == ("a", True, 1, 0.8)


@pytest.mark.spec("2.6")
def test_the_feedback_of_one_iteration_reaches_the_next() -> None:
    first = scored(0.5, "Use an analogy", reasoning="Dry")
    played = run(in_order(generated("a"), first, generated("b"), scored(0.9)))
    assert "Previous Attempt Feedback" not in user(played.questions[0])
    assert user(played.questions[2]).endswith(
        "\n\nPrevious Attempt Feedback:\nScore: 0.5\nEvaluation: Dry\n\nImprovement Suggestions:\n1. Use an analogy\n"
    )
    assert [
        (i.iteration_number, i.answer, i.evaluation and i.evaluation.score) for i in outcome(played).iterations
    ] == [
        (1, "a", 0.5),
        (2, "b", 0.9),
    ]


@pytest.mark.spec("2.20")
def test_each_iteration_has_the_feedback_of_the_one_before_it_even_where_that_was_worse() -> None:
    first, second = scored(0.5, "be brief"), scored(0.4, "be exact")
    played = run(in_order(generated("a"), first, generated("b"), second, generated("c"), scored(0.9)))
    third = user(played.questions[4])
    assert "1. be exact" in third
    assert "be brief" not in third


@pytest.mark.spec("2.7", "2.18")
@pytest.mark.parametrize(
    ("scores", "final", "score"),
    [
        ([0.3, 0.7, 0.5], "a2", 0.7),  # the best, not the last
        ([0.5, 0.5, 0.5], "a1", 0.5),  # the first of equals
        ([0.2, 0.6, 0.6], "a2", 0.6),
        ([0.0, 0.0, 0.0], "a1", 0.0),  # a score of 0.0 is a score
    ],
)
def test_without_success_the_best_answer_of_all_iterations_is_returned(
    scores: list[float], final: str, score: float
) -> None:
    replies = [part for n, s in enumerate(scores, 1) for part in (generated(f"a{n}"), scored(s, reasoning=f"r{n}"))]
    played = run(in_order(*replies))
    result, detail = played.evaluated().result, outcome(played)
    assert (detail.final_answer, detail.final_score, detail.success, detail.total_iterations) == (
        final,
        score,
        False,
        3,
    )
    assert (result.value, result.confidence, result.reasoning) == (final, score, f"r{final[1]}")


@pytest.mark.spec("2.5")
@pytest.mark.parametrize(
    ("threshold", "score", "success", "iterations"),
    [
        (0.0, 0.0, True, 1),  # a threshold of 0.0 is a threshold, not an unset one
        (0.0, 0.1, True, 1),
        (0.8, 0.8, True, 1),  # reached at it
        (0.8, 0.79, False, 2),
        (1.0, 1, True, 1),
        (1.0, 0.99, False, 2),
    ],
)
def test_an_answer_is_accepted_at_its_threshold(threshold: float, score: float, success: bool, iterations: int) -> None:
    replies = [generated("a"), scored(score)] * iterations
    detail = outcome(run(in_order(*replies), score_threshold=threshold, iter_max=2))
    assert (detail.success, detail.total_iterations) == (success, iterations)


@pytest.mark.spec("2.25")
def test_the_score_decides_whatever_meets_criteria_says() -> None:
    assert outcome(run(in_order(generated("a"), scored(0.9) | {"meets_criteria": False}))).success
    played = run(in_order(generated("a"), scored(0.1) | {"meets_criteria": True}), iter_max=1)
    assert not outcome(played).success


@pytest.mark.spec("2.30")
def test_parallel_attempts_are_generated_and_evaluated_side_by_side_and_the_best_goes_on() -> None:
    played = run(
        in_order(
            *(generated("a"), generated("b"), generated("c")),
            *(scored(0.2, "fix a"), scored(0.6, "fix b"), scored(0.4, "fix c")),
            *(generated("d"), generated("e"), generated("f")),
            *(scored(0.9), scored(0.1), scored(0.95)),
        ),
        parallel_attempts=3,
    )
    assert [len(asked) for asked in played.rounds] == [3, 3, 3, 3]
    assert all("1. fix b" in user(question) for question in played.rounds[2])
    detail = outcome(played)
    assert (detail.final_answer, detail.final_score, detail.total_iterations) == ("f", 0.95, 2)
    assert [(i.iteration_number, i.attempt, i.answer) for i in detail.iterations] == [
        (1, 1, "a"),
        (1, 2, "b"),
        (1, 3, "c"),
        (2, 1, "d"),
        (2, 2, "e"),
        (2, 3, "f"),
    ]


def test_parallel_attempts_are_told_apart_and_only_the_first_is_asked_as_the_worker_is_set() -> None:
    replies = [*map(generated, "ab"), scored(0), scored(0)] * 2
    played = run(in_order(*replies), parallel_attempts=2, iter_max=2)
    asked = [question for question in played.questions if question.schema_name == "answer"]
    assert [question.sample for question in asked] == [0, 1, 2, 3]
    assert [question.temperature for question in asked] == [None, 0.8, None, 0.8]
    assert {q.temperature for q in played.questions if q.schema_name == "answer_evaluation"} == {None}


@pytest.mark.spec("2.29")
def test_a_failed_iteration_is_kept_and_the_next_has_the_last_feedback() -> None:
    played = run(in_order(generated("a"), scored(0.5, "more"), TIMEOUT, generated("c"), REFUSED), iter_max=3)
    third = [question for question in played.questions if question.schema_name == "answer"][2]
    assert "1. more" in user(third)
    detail = outcome(played)
    assert detail.iterations[1:] == [
        IterationData(iteration_number=2, error_kind=ErrorKind.TIMEOUT, error="no answer within 120 s"),
        IterationData(iteration_number=3, answer="c", error_kind=ErrorKind.REFUSED, error="I will not"),
    ]
    assert (detail.final_answer, detail.final_score, detail.success, detail.total_iterations) == ("a", 0.5, False, 3)


def test_a_failed_attempt_beside_others_does_not_disturb_them() -> None:
    played = run(
        in_order(generated("a"), TIMEOUT, generated("c"), REFUSED, scored(0.9)),
        parallel_attempts=3,
    )
    assert [len(asked) for asked in played.rounds] == [3, 2]
    detail = outcome(played)
    assert detail.final_answer == "c"
    assert [(i.answer, i.error_kind, i.evaluation is not None) for i in detail.iterations] == [
        ("a", ErrorKind.REFUSED, False),
        (None, ErrorKind.TIMEOUT, False),
        ("c", None, True),
    ]


def test_without_any_evaluated_answer_the_error_is_that_of_the_last_attempt() -> None:
    played = run(in_order(TIMEOUT, generated("b"), REFUSED), iter_max=2)
    assert played.evaluation is None
    assert played.failure is not None
    assert played.failure.kind is ErrorKind.REFUSED
    assert played.failure.message == "none of 2 attempts could be evaluated; the last: I will not"


@pytest.mark.parametrize("kind", [ErrorKind.AUTHENTICATION, ErrorKind.PERMISSION, ErrorKind.MODEL_NOT_FOUND])
def test_where_the_endpoint_answers_nobody_no_further_iteration_is_paid_for(kind: ErrorKind) -> None:
    played = run(in_order(Unanswered(kind, "no")), iter_max=10)
    assert played.failure is not None
    assert played.failure.kind is kind
    kept = outcome(run(in_order(generated("a"), scored(0.5), Unanswered(kind, "no")), iter_max=10))
    assert (kept.final_answer, kept.success, kept.total_iterations) == ("a", False, 2)


@pytest.mark.spec("2.9")
@pytest.mark.parametrize(
    ("reply", "named"),
    [
        ({"answer": " \n"}, "answer: blank"),
        ({"answer": {"text": "a"}}, "answer: "),
        ({"answer": None}, "answer: "),
        ({"answer": "a", "score": 1}, "score: "),
        ("a", "answer: "),
    ],
)
def test_an_answer_that_is_no_text_is_no_answer(reply: object, named: str) -> None:
    failure = run(in_order(reply), iter_max=1).failure
    assert failure is not None
    assert failure.kind is ErrorKind.INVALID
    assert f"the last: {named}" in failure.message


@pytest.mark.spec("2.11", "2.28")
@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"score": 1.01}, "score: 1.01 is not from 0 to 1"),
        ({"score": 85}, "score: 85.0 is not from 0 to 1"),
        ({"score": -0.1}, "score: -0.1 is not from 0 to 1"),
        ({"score": "0.9"}, "score: "),
        ({"score": True}, "score: "),
        ({"score": float("nan")}, "score: "),
        ({"meets_criteria": "yes"}, "meets_criteria: "),
        ({"evaluation_reasoning": None}, "evaluation_reasoning: "),
        ({"improvement_suggestions": "more"}, "improvement_suggestions: "),
        ({"improvement_suggestions": [1]}, "improvement_suggestions.0: "),
        ({"more": 1}, "more: "),
    ],
)
def test_an_evaluation_that_is_not_what_was_asked_for_is_refused(changes: dict[str, Any], named: str) -> None:
    failure = run(in_order(generated("a"), scored(0.5) | changes), iter_max=1).failure
    assert failure is not None
    assert failure.kind is ErrorKind.INVALID
    assert f"the last: {named}" in failure.message


@pytest.mark.spec("2.11")
def test_suggestions_may_be_left_out() -> None:
    reply = {name: value for name, value in scored(0.9).items() if name != "improvement_suggestions"}
    (iteration,) = outcome(run(in_order(generated("a"), reply))).iterations
    assert iteration.evaluation is not None
    assert iteration.evaluation.improvement_suggestions == []


@pytest.mark.spec("2.26")
def test_the_history_survives_the_ledger() -> None:
    detail = outcome(run(in_order(generated("a"), scored(0.5, "more"), TIMEOUT), iter_max=2))
    assert AnswerResult.model_validate(json.loads(detail.model_dump_json())) == detail


@pytest.mark.spec("2.32")
@given(
    scores=st.lists(st.none() | st.floats(0, 1), min_size=1, max_size=10),
    threshold=st.floats(0, 1),
)
def test_the_final_answer_is_the_first_to_reach_the_threshold_or_else_the_best(
    scores: list[float | None], threshold: float
) -> None:
    replies: list[object] = []
    for number, score in enumerate(scores):
        replies += [TIMEOUT] if score is None else [generated(str(number)), scored(score)]
    played = run(in_order(*replies), iter_max=len(scores), score_threshold=threshold)
    given_scores = [score for score in scores if score is not None]
    if not given_scores:
        assert played.failure is not None
        assert played.failure.kind is ErrorKind.TIMEOUT
        return
    reached = [n for n, score in enumerate(scores) if score is not None and score >= threshold]
    expected = reached[0] if reached else scores.index(max(given_scores))
    detail = outcome(played)
    assert detail.final_answer == str(expected)
    assert detail.final_score == scores[expected]
    assert detail.success is bool(reached)
    assert detail.total_iterations == len(detail.iterations) == (reached[0] + 1 if reached else len(scores))
