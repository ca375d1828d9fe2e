"""Hooks through which a worker reports its work, for metrics."""

from collections.abc import Mapping
from decimal import Decimal

from ..llm.chat import Reply


class Measures:
    """The hooks that a worker calls. Here they do nothing; a collector of metrics overrides them. No hook may raise."""

    def claimed(self, granted: bool) -> None:
        """Count a claim of an item, granted or refused."""

    def item(self, operation: str, outcome: str, seconds: float) -> None:
        """Count an item whose evaluation ended with `outcome`, `seconds` after the claim of the item."""

    def permitted(self, model: str, waited: float) -> None:
        """Record how many seconds a call `waited` for the limiter's permit."""

    def called(self, model: str, outcome: str, reply: Reply, cost: Decimal | None) -> None:
        """Count a finished call. `outcome`: `ok`, or the kind of its error."""

    def found(self) -> None:
        """Count a question answered from the cache."""

    def wrote(self, writer: str, entries: int) -> None:
        """Record the number of entries that `writer` committed to the ledger in one transaction."""

    def refused_message(self) -> None:
        """Count a message that no worker understands."""

    def swept(self, actions: Mapping[str, int]) -> None:
        """Count the reconciler's repairs. `actions` has the number of each kind of repair."""


NULL_MEASURES = Measures()
