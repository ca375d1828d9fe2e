"""What a personality can change of a call."""

from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from ..asked import Asked, Schema
from ..connection import Response
from ..errors import Problem

JsonObject: TypeAlias = dict[str, Any]


@dataclass(frozen=True)
class Shape:
    """How the shape of an answer comes to the model."""

    shown: Schema | None = None  # the schema that the model sees
    enforced: Schema | None = None  # the schema that the endpoint does not let it break
    json_only: bool = False  # the endpoint lets it write nothing but JSON


class Behaviour(Protocol):
    """The hooks of a personality, asked in the order in which the personalities are scripted.

    Each takes what the one before has made, and gives it back changed or as it is. A hook does no I/O; what a behaviour
    remembers, it remembers from call to call in itself.
    """

    def refusal(self, asked: Asked) -> Problem | Response | None:
        """What the request is told instead of an answer; None lets it pass. The first one counts."""
        return None

    def delay(self, asked: Asked) -> float:
        """Seconds by which the answer comes later."""
        return 0.0

    def shape(self, asked: Asked, shape: Shape) -> Shape:
        """How `response_format` counts."""
        return shape

    def value(self, asked: Asked, value: Any, shape: Shape) -> Any:
        """The JSON value that the model means to write."""
        return value

    def content(self, asked: Asked, content: str) -> str:
        """The text that the model writes."""
        return content

    def message(self, asked: Asked, message: JsonObject) -> JsonObject:
        """The message that the endpoint makes of it."""
        return message

    def usage(self, asked: Asked, usage: JsonObject | None) -> JsonObject | None:
        """The usage that is told; None: none. It is billed as it is told."""
        return usage

    def completion(self, asked: Asked, completion: JsonObject) -> JsonObject:
        """The whole completion."""
        return completion

    def response(self, asked: Asked, response: Response, completion: JsonObject) -> Response:
        """The HTTP response that carries the completion."""
        return response
