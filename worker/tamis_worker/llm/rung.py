"""How the shape of an answer is told: the rungs of a ladder, from the most binding to the least."""

from enum import StrEnum


class Rung(StrEnum):
    """How the shape of the answer is told."""

    BOUNDED = "bounded"  # a strict schema with every bound, long: a number from 0 to 1 is an enum of hundredths
    STRICT = "strict"  # a strict schema in the short form that all strict modes take
    JSON_OBJECT = "json_object"  # JSON mode; the schema stands in the messages
    TEXT = "text"  # nothing but the schema in the messages
    REMINDED = "reminded"  # the same, and the last words are that the answer is one JSON object


START = Rung.STRICT  # the short form: only servers that compile grammars need the long one
LOWEST = Rung.REMINDED
WITH_SCHEMA = frozenset({Rung.BOUNDED, Rung.STRICT})  # the endpoint gets the schema as a parameter

_ORDER = {rung: place for place, rung in enumerate(Rung)}


def is_below(rung: Rung, other: Rung) -> bool:
    """True where `rung` binds less than the other."""
    return _ORDER[rung] > _ORDER[other]


def lower(one: Rung, other: Rung) -> Rung:
    """The one of two rungs that binds less."""
    return other if is_below(other, one) else one
