"""Costs that may stand in no bill: of calls without an answer, and of claims whose worker died."""

from decimal import ROUND_CEILING, Decimal

from pydantic import computed_field

from ..values.frozen import Frozen
from ..values.money import NANO, Cost, dollars


class PossiblyUnbilled(Frozen):
    """The part of a batch's figures that says what its cost may lack.

    A call that was sent and never answered may have been paid for. A claim whose worker died may stand for one call,
    for several or for none: nobody was left to count them.
    """

    unanswered: int = 0  # calls that were sent and never answered
    lost_claims: int = 0  # claims whose worker died
    possibly_unbilled_cost: Cost | None = None  # dollars, an estimate; None: there is nothing, or no price to go by

    @computed_field  # type: ignore[prop-decorator]  # as pydantic documents it; mypy knows no decorated property
    @property
    def possibly_unbilled(self) -> int:
        """Calls and claims whose end nobody knows."""
        return self.unanswered + self.lost_claims

    @property
    def unbilled_words(self) -> str | None:
        """`up to about $0.0312 (12 claims whose worker died)`; None where every call is in the bill."""
        parts = []
        if self.unanswered:
            parts.append(f"{self.unanswered:,} {'call' if self.unanswered == 1 else 'calls'} whose end nobody knows")
        if self.lost_claims:
            parts.append(f"{self.lost_claims:,} {'claim' if self.lost_claims == 1 else 'claims'} whose worker died")
        if not parts:
            return None
        cost = self.possibly_unbilled_cost
        return f"{'price not known' if cost is None else f'up to about {dollars(cost)}'} ({', '.join(parts)})"


def possibly_unbilled_cost(n: int, mean: Decimal | None) -> Decimal | None:
    """Dollars for `n` calls and claims whose end nobody knows, each at what a paid item of the batch cost on average.

    12 claims of items that cost 0.0026 on average: 12 x 0.0026 = 0.0312. None where there are none, or no item of the
    batch has a known cost to go by.
    """
    return None if not n or mean is None else (n * mean).quantize(NANO, ROUND_CEILING)
