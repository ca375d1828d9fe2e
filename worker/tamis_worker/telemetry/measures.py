"""Hooks through which a worker reports its work, for metrics."""

from collections.abc import Mapping
from decimal import Decimal

from ..llm.chat import Reply


class Measures:
    """The hooks, which do nothing here. A collector of metrics overrides the hooks. A hook must never raise."""

    def claimed(self, granted: bool) -> None:
        """Count a claim of an item, granted or refused."""

    def item(self, operation: str, outcome: str, seconds: float) -> None:
        """Count an item, evaluated or returned."""

    def permitted(self, model: str, waited: float) -> None:
        """Record a call's wait for its permit, in seconds."""

    def called(self, model: str, outcome: str, reply: Reply, cost: Decimal | None) -> None:
        """Count a finished call. `outcome`: `ok`, or the kind of its error."""

    def found(self) -> None:
        """Count a question answered from the cache."""

    def wrote(self, writer: str, entries: int) -> None:
        """Count a group of entries that is committed to the ledger."""

    def refused_message(self) -> None:
        """Count a message that no worker understands."""

    def swept(self, actions: Mapping[str, int]) -> None:
        """Count the repairs of the reconciler."""


NULL_MEASURES = Measures()
