"""The personalities of a double, asked in turn."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from .. import answers
from ..asked import Asked
from ..connection import Response
from ..errors import Problem
from ..script import draw
from .behaviour import Behaviour, JsonObject, Shape
from .personality import Personality
from .registry import behaviour_of

B = TypeVar("B")

CONDITIONS = ("share", "seed", "models")  # parameters that every personality takes


@dataclass(frozen=True)
class _Member:
    personality: Personality
    behaviour: Behaviour

    def concerns(self, asked: Asked) -> bool:
        told = self.personality.parameters
        if "models" in told and asked.model not in told["models"]:
            return False
        return "share" not in told or draw(f"{told.get('seed', 0)}|{asked.seen}|{asked.prompt}") < told["share"]


class Character:
    """What all personalities together make of a call."""

    def __init__(self, personalities: Sequence[Personality] = (), before: "Character | None" = None) -> None:
        """Personalities that were there before keep what they remember.

        Raises:
            ValueError: for a name that is none, or a parameter that it does not take.
        """
        old = list(before._members) if before else []
        self._members: list[_Member] = []
        for personality in personalities:
            kept = next((member for member in old if member.personality == personality), None)
            if kept is not None:
                old.remove(kept)
            self._members.append(kept or _Member(personality, _made(personality)))

    def __bool__(self) -> bool:
        return bool(self._members)

    def find(self, kind: type[B]) -> B | None:
        """The first behaviour of a kind."""
        return next((m.behaviour for m in self._members if isinstance(m.behaviour, kind)), None)

    def refusal(self, asked: Asked) -> Problem | Response | None:
        """The first objection."""
        return next((said for one in self._asked(asked) if (said := one.refusal(asked)) is not None), None)

    def delay(self, asked: Asked) -> float:
        """Seconds by which the answer comes later."""
        return sum(one.delay(asked) for one in self._asked(asked))

    def shape(self, asked: Asked) -> Shape:
        """What the model sees of the schema, and what binds it.

        A schema that the endpoint does not show is the last one that is written out in the messages.
        """
        shape = Shape(asked.schema, asked.schema, json_only=asked.format != "text")
        for one in self._asked(asked):
            shape = one.shape(asked, shape)
        return shape if shape.shown is not None else replace(shape, shown=answers.schema_in(asked.prompt))

    def value(self, asked: Asked, value: Any, shape: Shape) -> Any:
        """The value that the model means to write."""
        for one in self._asked(asked):
            value = one.value(asked, value, shape)
        return value

    def content(self, asked: Asked, content: str) -> str:
        """The text that the model writes."""
        for one in self._asked(asked):
            content = one.content(asked, content)
        return content

    def message(self, asked: Asked, message: JsonObject) -> JsonObject:
        """The message that the endpoint makes of it."""
        for one in self._asked(asked):
            message = one.message(asked, message)
        return message

    def completion(self, asked: Asked, completion: JsonObject) -> JsonObject:
        """The completion, its usage included; a usage that is not told is left out."""
        if not self._members:
            return completion
        usage: JsonObject | None = completion["usage"]
        for one in self._asked(asked):
            usage = one.usage(asked, usage)
        rest = {name: value for name, value in completion.items() if name != "usage"}
        completion = rest if usage is None else rest | {"usage": usage}
        for one in self._asked(asked):
            completion = one.completion(asked, completion)
        return completion

    def response(self, asked: Asked, response: Response, completion: JsonObject) -> Response:
        """The HTTP response."""
        for one in self._asked(asked):
            response = one.response(asked, response, completion)
        return response

    def _asked(self, asked: Asked) -> Iterable[Behaviour]:
        if not self._members:
            return ()
        return (member.behaviour for member in self._members if member.concerns(asked))


def _made(personality: Personality) -> Behaviour:
    own = {name: value for name, value in personality.parameters.items() if name not in CONDITIONS}
    try:
        return behaviour_of(personality.name)(**own)
    except TypeError as error:
        raise ValueError(f"the personality {personality.name!r}: {error}") from error
