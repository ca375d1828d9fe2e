"""Repair: an answer that cannot be used, and the question asked once more with what is wrong with it. Pure."""

from dataclasses import replace

from tamis_schemas import ErrorKind

from ..llm.chat import Answer, CallError, ChatRequest, Message
from ..llm.json_answer import Malformed
from ..operations import InvalidAnswer


def unusable(reason: Malformed | InvalidAnswer) -> CallError:
    """Why an answer that came cannot be used. Its usage was counted with the answer."""
    kind = ErrorKind.MALFORMED if isinstance(reason, Malformed) else ErrorKind.INVALID
    return CallError(kind, str(reason)[:500])


def repaired(request: ChatRequest, answer: Answer, error: CallError) -> ChatRequest:
    """The same question once more, with the unusable answer and what is wrong with it."""
    return replace(
        request,
        messages=(
            *request.messages,
            Message("assistant", answer.content),
            Message(
                "user",
                f"This answer cannot be used: {error.message}. "
                "Answer again, with one JSON object that follows the schema.",
            ),
        ),
    )
