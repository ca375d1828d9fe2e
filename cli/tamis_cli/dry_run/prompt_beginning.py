"""The beginning of a prompt that is the same for every record: its estimated length, and whether endpoints cache it."""

from typing import Any

from tamis_producer.runs.dry_run import Beginning
from tamis_schemas import Operation
from tamis_worker import operations
from tamis_worker.limiter.token_estimates import CHARACTERS_PER_TOKEN
from tamis_worker.llm.chat import ChatRequest
from tamis_worker.llm.prompt_cache import MINIMUM, characters_in_common
from tamis_worker.operations.program import Question


def beginning_of(asked: ChatRequest | Question[Any]) -> Beginning:
    """Return the length of the beginning that a question's prompt shares with prompts about other records."""
    return Beginning(characters_in_common(asked.messages, asked.schema) // CHARACTERS_PER_TOKEN, MINIMUM)


def beginning_of_all(operation: Operation) -> Beginning:
    """Return the length of the beginning that all prompts of an operation share, measured with a made-up record."""
    (question, *_) = next(operations.program_of(operation, {"title": "any"}))
    return beginning_of(question)
