"""Statements as text, and what runs them: a connection of SQLAlchemy, or the driver's own."""

from collections.abc import Iterable, Mapping
from typing import Any, Protocol


class RunsStatements(Protocol):
    """A connection to the ledger, in a transaction."""

    def exec_driver_sql(self, statement: str, parameters: Mapping[str, Any], /) -> Iterable[Any]:
        """The rows, with their columns as attributes; a parameter stands in the statement as `%(name)s`."""
        ...
