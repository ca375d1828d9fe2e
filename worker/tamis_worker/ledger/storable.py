"""What Postgres can hold of what a model wrote."""

from typing import Any

from tamis_schemas.unstorable import UNSTORABLE


def storable(value: Any) -> Any:
    """The value with U+FFFD in place of NUL and of halves of surrogate pairs, in all of its texts."""
    match value:
        case str():
            return UNSTORABLE.sub("\ufffd", value)
        case dict():
            return {storable(name): storable(part) for name, part in value.items()}
        case list():
            return [storable(part) for part in value]
        case _:
            return value
