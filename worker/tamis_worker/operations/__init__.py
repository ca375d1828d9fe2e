"""The operations: one pure module each, with its messages, its response schema and how its answer is read."""

from typing import Any

from tamis_schemas import Filter, Inclusion, Item, Operation
from tamis_schemas.item import shown_fields

from ..engine.chat import Message, Schema
from . import filter as filter_
from . import inclusion
from .evaluation import Evaluation, Failure, InvalidAnswer

__all__ = ["Evaluation", "Failure", "InvalidAnswer", "has_content", "messages", "parse", "response_schema"]


def has_content(item: Item) -> bool:
    """True where the item holds anything that a model could be shown."""
    return bool(shown_fields(item))


def messages(operation: Operation, item: Item) -> tuple[Message, ...]:
    """What to say to the model about one item."""
    match operation:
        case Filter():
            return filter_.messages(operation, item)
        case Inclusion():
            return inclusion.messages(operation, item)


def response_schema(operation: Operation) -> Schema:
    """The JSON schema that an answer must follow."""
    match operation:
        case Filter():
            return filter_.response_schema(operation)
        case Inclusion():
            return inclusion.response_schema(operation)


def parse(operation: Operation, data: Any) -> Evaluation:
    """The evaluation that an answer (decoded JSON) gives. Raises `InvalidAnswer` naming what is wrong with it."""
    match operation:
        case Filter():
            return filter_.parse(operation, data)
        case Inclusion():
            return inclusion.parse(operation, data)
