"""The reading order in words: why a record stands where it stands, and what the order means for the review."""

from typing import Protocol

from tamis_schemas import ReadingReason

from .candidates import Candidate


class OrderFigures(Protocol):
    """What an order was made from."""

    @property
    def decided(self) -> int:
        """The records that people had decided on."""

    @property
    def included(self) -> int:
        """Those of them that they included."""

    @property
    def text_weight(self) -> float:
        """The text model's share, 0 to 1."""


def why(reason: ReadingReason, record: Candidate, included: int) -> str:
    """Return a sentence: why a record is next. `included`: records that people had included when the order was made."""
    scored = "the model did not decide it" if record.score is None else f"the model scores it {record.score:.2f}"
    alike = "its text is like the included record's" if included == 1 else f"its text is like the {included:,} included"
    match reason:
        case ReadingReason.SAMPLE:
            return "it belongs to the random sample of tamis stop"
        case ReadingReason.PAIR:
            return "somebody else has decided on it, and you have not"
        case ReadingReason.DISAGREEMENT:
            return "the models of the panel differ on it"
        case ReadingReason.CONFLICT:
            return "people decided differently: settle it"
        case ReadingReason.MODEL:
            return scored
        case ReadingReason.TEXT:
            return alike
        case ReadingReason.BOTH:
            return f"{scored}, and {alike}"
        case ReadingReason.EXPLORATION:
            return "chance drew it, so that new topics are seen"
        case ReadingReason.RULE:
            return f"last, for the rule {record.rule} excluded it"
        case ReadingReason.NUMBER:
            return "it is the next one by number"
        case ReadingReason.RETURNED:
            return "its decision was withdrawn"


BLIND = (
    "People read blind: what others have begun comes first, then the rest by number. An order by promise would "
    "tell what the model and other people decided."
)


def meaning(order: OrderFigures, *, decided: int, unread: int, current: bool) -> str:
    """Return what an order means for the review, in a few sentences.

    `decided`, `unread`: records of now; `current`: the order knows all decisions.
    """
    if not unread:
        return "Nothing is left to read: every record has a decision."
    if not order.decided:
        basis = "The order is the model's, highest score first, as it is before people decide."
    elif not order.text_weight:
        kind = "included" if order.included else "excluded"
        basis = (
            f"People {kind} all {order.decided:,} records of which the order knows: it is the model's, and learns from "
            f"texts once there is one of either kind."
        )
    else:
        basis = (
            f"The order was learned from {order.decided:,} decisions, {order.included:,} of them to include: what a "
            f"text says counts for {order.text_weight:.0%} in it, the model's score for the rest."
        )
    if not current:
        basis += f" It is being brought up to date ({decided:,} records are decided now); what is decided is left out."
    return f"{basis} Whoever reads from the top finds the includes early; `tamis stop` says when the rest may be left."
