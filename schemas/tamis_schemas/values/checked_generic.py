"""Generic classes for type checkers only: pydantic makes no second model of `ItemResult[bool]`."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing import Generic as CheckedGeneric

    from typing_extensions import TypeVar

    # The type of an operation's values; `Any` by default.
    V_co = TypeVar("V_co", covariant=True, default=Any)
else:
    from typing import TypeVar

    V_co = TypeVar("V_co", covariant=True)

    class CheckedGeneric:
        """A base class that ignores its subscript: only type checkers use the subscript. List it as the first base."""

        def __class_getitem__(cls, parameters):
            return cls


__all__ = ["CheckedGeneric", "V_co"]
