"""Serializers of models that omit or rename fields.

The serializing functions are lambdas, which have no return annotation: pydantic would use one for the model's JSON
schema. Newer releases of pydantic have options instead: `exclude_if` (from 2.12) and `serialize_by_alias` (from 2.11).
"""

from typing import Any

from pydantic import model_serializer


def without_empty(*names: str) -> Any:
    """Return a serializer that omits these fields while they are empty."""
    return model_serializer(mode="wrap")(
        lambda self, write: {name: value for name, value in write(self).items() if value or name not in names}
    )


def under_names(**names: str) -> Any:
    """Return a serializer that renames fields. `names`: the written name for each field."""
    return model_serializer(mode="wrap")(
        lambda self, write: {names.get(name, name): value for name, value in write(self).items()}
    )
