"""The limits of a batch's size, checked before anything is written.

Each limit is a setting. A value's depth and number of parts are checked before the value is encoded. So a value that
contains itself takes no more time than a value at the limit.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

from tamis_schemas import ExtractFields, InvalidParameters, Operation
from tamis_schemas.operations.field_rules import extent

from ..config.settings import ProducerSettings

LONGEST_ID = 1_000  # characters; longer than any DOI, and short enough for a table


class OutOfBounds(ValueError):
    """A value is larger than a setting allows. The message has its size, and names the setting."""


@dataclass(frozen=True)
class SubmissionBounds:
    """The largest sizes of a batch and its parts. The fields have the names of the settings."""

    max_items: int
    max_item_bytes: int
    max_item_depth: int
    max_parameter_bytes: int
    max_schema_depth: int
    max_schema_properties: int

    @classmethod
    def of(cls, settings: ProducerSettings) -> Self:
        """Return the bounds of these settings."""
        return cls(**{name: getattr(settings, name) for name in cls.__dataclass_fields__})

    @classmethod
    def usual(cls) -> Self:
        """Return the bounds of the default settings."""
        return cls(**{name: ProducerSettings.model_fields[name].default for name in cls.__dataclass_fields__})

    def check_count(self, items: int) -> None:
        """Raise `InvalidParameters` for more items than a batch may have."""
        if items > self.max_items:
            raise InvalidParameters(
                f"items: more than {self.max_items:,}, the maximum for a batch (TAMIS_MAX_ITEMS): "
                "submit several batches, or raise the setting"
            )

    def check_shape(self, item: dict[str, Any]) -> None:
        """Raise `OutOfBounds` if a field of an item is nested too deeply or has too many values.

        The message names the field.
        """
        for name, value in item.items():
            for parts, depth in enumerate(_depths(value), 1):
                if depth > self.max_item_depth:
                    raise OutOfBounds(
                        f"field {name!r:.80}: nested more than {self.max_item_depth} deep (TAMIS_MAX_ITEM_DEPTH), or "
                        "it contains itself"
                    )
                if parts > self.max_item_bytes:  # each is at least a byte of JSON
                    raise self._too_large(name, f"more than {self.max_item_bytes:,} bytes as JSON")

    def check_row(self, item: dict[str, Any], item_id: str, payload: str) -> None:
        """Raise `OutOfBounds` if an item's id or JSON is too long. For JSON, the message names the largest field."""
        if len(item_id) > LONGEST_ID:
            raise OutOfBounds(f"its id has {len(item_id):,} characters; the maximum is {LONGEST_ID:,}")
        if len(payload) * 4 <= self.max_item_bytes:  # no character has more than four bytes
            return
        size = len(payload.encode())
        if size > self.max_item_bytes:
            sizes = {name: len(json.dumps(value, ensure_ascii=False).encode()) for name, value in item.items()}
            largest = max(sizes, key=lambda name: sizes[name])
            raise self._too_large(largest, f"{size:,} bytes as JSON, {sizes[largest]:,} of them in this field")

    def check_parameters(self, operation: Operation, params: dict[str, Any]) -> None:
        """Raise `InvalidParameters` if an operation or its schema is too large.

        The operation is sent with every item.
        """
        size = len(json.dumps(params, ensure_ascii=False).encode("utf-8", "surrogatepass"))
        if size > self.max_parameter_bytes:
            sizes = {name: len(json.dumps(value, ensure_ascii=False)) for name, value in params.items()}
            largest = max(sizes, key=lambda name: sizes[name])
            raise InvalidParameters(
                f"{largest}: the parameters have {size:,} bytes as JSON; the maximum is {self.max_parameter_bytes:,} "
                "(TAMIS_MAX_PARAMETER_BYTES), because they are sent with every item"
            )
        if isinstance(operation, ExtractFields):
            schema = extent(operation.json_schema)
            if schema.depth > self.max_schema_depth:
                raise InvalidParameters(
                    f"schema: fields are nested {schema.depth} deep; the maximum is {self.max_schema_depth} "
                    "(TAMIS_MAX_SCHEMA_DEPTH)"
                )
            if schema.properties > self.max_schema_properties:
                raise InvalidParameters(
                    f"schema: it has {schema.properties:,} properties; the maximum is {self.max_schema_properties:,} "
                    "(TAMIS_MAX_SCHEMA_PROPERTIES)"
                )

    def _too_large(self, field: str, size: str) -> OutOfBounds:
        return OutOfBounds(
            f"field {field!r:.80}: the item has {size}; the maximum is {self.max_item_bytes:,} "
            "(TAMIS_MAX_ITEM_BYTES): omit text that no model needs, or raise the setting"
        )


def _depths(value: object) -> Iterator[int]:
    """Yield 0 for the value, then the depth of each inner value. The result is endless if a value contains itself."""
    if not isinstance(value, dict | list | tuple):
        yield 0
        return
    open_values: list[Iterator[object]] = [iter((value,))]
    while open_values:
        part = next(open_values[-1], open_values)
        if part is open_values:  # this level is done
            open_values.pop()
            continue
        yield len(open_values) - 1
        if isinstance(part, dict):
            open_values.append(iter(part.values()))
        elif isinstance(part, list | tuple):
            open_values.append(iter(part))
