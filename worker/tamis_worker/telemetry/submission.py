"""Submission: what the metrics say of a result, as events of the span whose answer they rate.

After the semantic conventions for generative AI: `gen_ai.evaluation.result` belongs to the span of the operation that
is evaluated, so to the call whose answer became the result. Where that answer came from the cache there was no call,
and the item's span has them.
"""

from collections.abc import Iterable
from typing import Protocol

from tamis_producer.process.tracing import Attributes, quietly
from tamis_schemas import Evaluation

EVENT = "gen_ai.evaluation.result"


class Rated(Protocol):
    """A taker of events: an item's span, or that of a call."""

    def event(self, name: str, attributes: Attributes) -> None: ...


@quietly
def submit(evaluations: Iterable[Evaluation], to: Rated) -> None:
    """Attach evaluations that have a value. Never raises: a fault of telemetry is no fault of the work."""
    for evaluation in evaluations:
        if evaluation.value is not None:
            to.event(EVENT, attributes_of(evaluation))


def attributes_of(evaluation: Evaluation) -> Attributes:
    """Name an evaluation's parts as the conventions do; the field, of several, has a name of ours."""
    value = evaluation.value
    return {
        "gen_ai.evaluation.name": evaluation.label,
        "gen_ai.evaluation.score.value": None if isinstance(value, str) else value,
        "gen_ai.evaluation.score.label": value if isinstance(value, str) else None,
        "gen_ai.evaluation.explanation": evaluation.reason,
        "tamis.field": evaluation.field,
    }
