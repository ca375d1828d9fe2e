"""Statements as text, and the connection that runs them: SQLAlchemy's, or the driver's."""

from collections.abc import Iterable, Mapping
from typing import Any, Protocol


class RunsStatements(Protocol):
    """A connection to the ledger, in a transaction."""

    def exec_driver_sql(self, statement: str, parameters: Mapping[str, Any], /) -> Iterable[Any]:
        """Return the rows, with columns as attributes. The statement names its parameters as `%(name)s`."""
