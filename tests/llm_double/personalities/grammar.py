"""Compiles the schema into a grammar, as llama.cpp does: enums are obeyed, bounds of numbers are not."""

from dataclasses import replace
from typing import Any

from ..asked import Asked
from .behaviour import Behaviour, Shape

BOUNDS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")


class Grammar(Behaviour):
    """Enforces the schema without the bounds of its numbers; those of integers hold."""

    def shape(self, asked: Asked, shape: Shape) -> Shape:
        """The shape, as far as a grammar binds it."""
        return replace(shape, enforced=shape.enforced and unbounded(shape.enforced))


def unbounded(schema: Any) -> Any:
    """The schema, and every one inside it, without bounds of numbers."""
    match schema:
        case dict():
            dropped = BOUNDS if schema.get("type") == "number" else ()
            return {name: unbounded(part) for name, part in schema.items() if name not in dropped}
        case list():
            return [unbounded(part) for part in schema]
        case _:
            return schema
