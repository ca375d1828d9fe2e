"""What a model writes of its fields, where that is not each of them under its name.

The functions are lambdas: of what an annotation says is returned pydantic would make the model's JSON schema. Fields
have options of their own for this (`exclude_if`, `serialize_by_alias`) from pydantic 2.12 and 2.11 on.
"""

from typing import Any

from pydantic import model_serializer


def without_empty(*names: str) -> Any:
    """Return the serializer of a model that leaves these fields out while they hold nothing."""
    return model_serializer(mode="wrap")(
        lambda self, write: {name: value for name, value in write(self).items() if value or name not in names}
    )


def under_names(**names: str) -> Any:
    """Return the serializer of a model that writes these fields under other names."""
    return model_serializer(mode="wrap")(
        lambda self, write: {names.get(name, name): value for name, value in write(self).items()}
    )
