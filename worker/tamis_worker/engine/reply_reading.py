"""The value that an operation makes of a reply, or why it makes none. Pure."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from ..llm.answer_reading import read_answer
from ..llm.chat import Answer, CallError, Reply, Schema
from ..llm.json_answer import Malformed
from ..llm.token_probability import DecisionField, probability_of
from ..operations import Decided, InvalidAnswer
from .repair import unusable

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ReadContent(Generic[T]):
    """A model's words that could be read, as the operation took them."""

    value: T
    deviations: tuple[str, ...] = ()  # what was harmlessly otherwise in them
    probability: float | None = None  # of inclusion, from the tokens; None: they say none. The value has it, too

    def weighed(self, probability: float | None) -> "ReadContent[T]":
        """The same with the probability of its decision."""
        if probability is None:
            return self
        value = replace(self.value, probability=probability) if isinstance(self.value, Decided) else self.value
        return replace(self, value=value, probability=probability)


@dataclass(frozen=True, slots=True)
class UsableAnswer(Generic[T]):
    """An answer, and what it says."""

    answer: Answer
    read: ReadContent[T]


def read_reply(
    reply: Reply, schema: Schema, parse: Callable[[object], T], decision: DecisionField | None = None
) -> UsableAnswer[T] | CallError:
    """The value that `parse` makes of a reply, or why there is none; with the probability of its decision."""
    if isinstance(reply, CallError):
        return reply
    read = read_content(reply.content, schema, parse)
    if isinstance(read, CallError):
        return read
    if decision is not None and reply.tokens is not None:
        read = read.weighed(probability_of(reply.content, reply.tokens, decision))
    return UsableAnswer(reply, read)


def read_content(content: str, schema: Schema, parse: Callable[[object], T]) -> ReadContent[T] | CallError:
    """The value that `parse` makes of a model's words, or why there is none."""
    try:
        read = read_answer(content, schema)
        return ReadContent(parse(read.value), read.deviations)
    except (Malformed, InvalidAnswer) as reason:
        return unusable(reason)
