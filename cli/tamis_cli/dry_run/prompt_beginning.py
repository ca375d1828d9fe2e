"""The beginning that the prompts of all records share: its length in tokens, and whether endpoints cache it."""

from typing import Any

from tamis_producer.runs.dry_run import Beginning
from tamis_schemas import Operation
from tamis_worker import operations
from tamis_worker.limiter.token_estimates import CHARACTERS_PER_TOKEN
from tamis_worker.llm.chat import ChatRequest
from tamis_worker.llm.prompt_cache import MINIMUM, characters_in_common
from tamis_worker.operations.program import Question


def beginning_of(asked: ChatRequest | Question[Any]) -> Beginning:
    """Return the estimated tokens that a question's prompt shares with prompts about other records.

    The result also has `MINIMUM`, the fewest tokens that endpoints cache.
    """
    return Beginning(characters_in_common(asked.messages, asked.schema) // CHARACTERS_PER_TOKEN, MINIMUM)


def beginning_of_all(operation: Operation) -> Beginning:
    """Return the estimated tokens that all prompts of an operation share, measured with a made-up record.

    The result also has the fewest tokens that endpoints cache.
    """
    (question, *_) = next(operations.program_of(operation, {"title": "any"}))
    return beginning_of(question)
