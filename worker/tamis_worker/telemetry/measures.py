"""What the work tells while it goes on; `Measures` itself keeps nothing of it."""

from collections.abc import Mapping
from decimal import Decimal

from ..llm.chat import Reply


class Measures:
    """Nobody asks for figures. Whoever does overrides these; none of them may raise."""

    def claimed(self, granted: bool) -> None:
        """An item's claim was granted or refused."""

    def item(self, operation: str, outcome: str, seconds: float) -> None:
        """An item was evaluated, or given back."""

    def permitted(self, model: str, waited: float) -> None:
        """A call may begin; it waited so many seconds for that."""

    def called(self, model: str, outcome: str, reply: Reply, cost: Decimal | None) -> None:
        """A call has ended: `ok`, or the kind of what was wrong with it."""

    def found(self) -> None:
        """A question was answered from the cache."""

    def wrote(self, writer: str, entries: int) -> None:
        """A group was committed."""

    def refused_message(self) -> None:
        """A message came that no worker understands."""

    def swept(self, actions: Mapping[str, int]) -> None:
        """The reconciler set things going again."""


NULL_MEASURES = Measures()
