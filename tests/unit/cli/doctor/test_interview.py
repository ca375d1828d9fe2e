"""The questions that the doctor asks are those of the operations themselves."""

import json

from tamis_cli.doctor.interview import sample_questions
from tamis_schemas.operations import OPERATIONS, operation_name
from tamis_worker.engine.conversation import CallPolicy
from tamis_worker.engine.retry import RetryPolicy

PATIENCE = CallPolicy(RetryPolicy(max_calls=5, deadline=900), temperature=0.0, max_output_tokens=1024)


def test_each_operation_is_asked_once() -> None:
    asked = [question.operation for question in sample_questions("m", PATIENCE)]
    assert sorted(asked) == sorted(operation_name(operation) for operation in OPERATIONS)


def test_the_questions_are_as_a_worker_would_put_them() -> None:
    for question in sample_questions("m", PATIENCE):
        request = question.request
        assert (request.model, request.max_tokens >= 1024) == ("m", True)
        assert request.temperature is not None
        assert any("hip replacement" in message.content for message in request.messages), question.operation


def test_all_questions_together_are_short() -> None:
    characters = sum(
        len(message.content) + len(json.dumps(question.request.schema))
        for question in sample_questions("m", PATIENCE)
        for message in question.request.messages
    )
    assert characters < 64_000  # 16,000 tokens: $0.004 at $0.25 per million


def test_one_question_is_longer_than_the_usual_context_of_a_small_server() -> None:
    longest = max(
        sum(len(m.content) for m in question.request.messages) for question in sample_questions("m", PATIENCE)
    )
    assert longest > 20_000  # about 5,000 tokens; Ollama keeps 4,096
