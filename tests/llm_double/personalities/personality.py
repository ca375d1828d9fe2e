"""The name of a personality with what it is told: what tests write, and what travels to the double's process."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self, TypeAlias, Union

Told: TypeAlias = Union["Personality", str, Mapping[str, Any]]


@dataclass(frozen=True, init=False)
class Personality:
    """A personality by its name in the registry, with its parameters.

    Each one also takes `share` with `seed` (the share of calls for which it is so, drawn from the prompt and how often
    that came: order is no matter) and `models` (the models for which it is so).
    """

    name: str
    parameters: dict[str, Any]

    def __init__(self, name: str, **parameters: Any) -> None:
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "parameters", {key: _frozen(value) for key, value in parameters.items()})

    @classmethod
    def of(cls, told: Told) -> Self:
        """Itself, its name alone, or what `dataclasses.asdict` made of it."""
        match told:
            case Personality():
                return cls(told.name, **told.parameters)
            case str():
                return cls(told)
            case _:
                return cls(told["name"], **told.get("parameters", {}))


def _frozen(value: Any) -> Any:
    """Tuples for lists, so that the way through JSON changes nothing."""
    return tuple(_frozen(part) for part in value) if isinstance(value, list | tuple) else value
