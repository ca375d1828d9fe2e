"""The bill of one question: what its calls cost, failed ones and repairs too."""

from dataclasses import dataclass, field
from decimal import Decimal

from tamis_schemas import Usage


@dataclass(frozen=True, slots=True)
class QuestionBill:
    """Tokens and dollars of one question, and who answered it."""

    model: str | None = None  # as the endpoint names it in its answer
    usage: Usage = field(default_factory=Usage)
    cost: Decimal | None = Decimal(0)  # dollars; None: of some answer nobody knows what it cost
    cached: bool = False  # the answer was kept from an earlier call


NO_BILL = QuestionBill()
