"""The value that an operation makes of a reply, or why it makes none. Pure."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from ..llm.answer_reading import read_answer
from ..llm.chat import Answer, CallError, Reply, Schema
from ..llm.json_answer import Malformed
from ..operations import InvalidAnswer
from .repair import unusable

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ReadContent(Generic[T]):
    """A model's words that could be read, as the operation took them."""

    value: T
    deviations: tuple[str, ...] = ()  # what was harmlessly otherwise in them


@dataclass(frozen=True, slots=True)
class UsableAnswer(Generic[T]):
    """An answer, and what it says."""

    answer: Answer
    read: ReadContent[T]


def read_reply(reply: Reply, schema: Schema, parse: Callable[[object], T]) -> UsableAnswer[T] | CallError:
    """The value that `parse` makes of a reply, or why there is none."""
    if isinstance(reply, CallError):
        return reply
    read = read_content(reply.content, schema, parse)
    return read if isinstance(read, CallError) else UsableAnswer(reply, read)


def read_content(content: str, schema: Schema, parse: Callable[[object], T]) -> ReadContent[T] | CallError:
    """The value that `parse` makes of a model's words, or why there is none."""
    try:
        read = read_answer(content, schema)
        return ReadContent(parse(read.value), read.deviations)
    except (Malformed, InvalidAnswer) as reason:
        return unusable(reason)
