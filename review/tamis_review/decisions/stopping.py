"""Whether people may stop reading: a certificate from random samples, an estimator, and what reading on would bring.

Only looks: `stop_samples` draws. Every figure is taken from the ledger as it is, so decisions that were changed or
withdrawn are followed.
"""

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import Connection, select

from tamis_producer.ledger.overrides import read_operation_name
from tamis_producer.ledger.stop_samples import Promise, StoredFrame, read_frames
from tamis_schemas import ExpectedIncludes, StopAnswer, StopEstimate, StopPrice
from tamis_schemas.ledger import reading_orders

from ..quality.certificate import Reading, certify, price_list
from ..quality.estimator import missed_recall_p
from ..quality.expected_finds import expected_from_probabilities, expected_from_yield
from .final_outcome import Outcome
from .reading_state import ReadingState, read_reading_state
from .stop_samples import checked_operation, next_number, promise_of, reading_of, samples_of, seen_audits
from .stop_words import in_words


def read_stop(
    connection: Connection,
    batch_id: UUID,
    recall: float | None = None,
    confidence: float | None = None,
    *,
    human_errors: bool = True,
    priced: bool = True,
) -> StopAnswer:
    """Say whether people may stop reading with a promise, and what it would cost. Nothing is drawn.

    Args:
        recall: the share of all includes that is to be found; None: that of the last sample, else 0.95.
        confidence: of the promise; None: likewise.
        human_errors: take in what people overlook, where two people decided about the same records; else the promise is
            of the includes that they would include if they read everything.
        priced: with the price list, which takes longer than all else.

    Raises:
        InvalidParameters: a recall or a confidence that is none.
        InvalidRequest: the batch decides about no records.
    """
    operation = checked_operation(batch_id, read_operation_name(connection, batch_id))
    state = read_reading_state(connection, batch_id, operation)
    frames = read_frames(connection, batch_id)
    promise = promise_of(frames, recall, confidence)
    number = next_number(frames, seen_audits(connection, batch_id, frames))
    reading = reading_of(state, frames, number, human_errors=human_errors)
    certificate = certify(reading, promise.recall, promise.confidence)
    double, hoped = state.double, _probabilities(connection, batch_id, state)
    return in_words(
        StopAnswer(
            **certificate.model_dump(exclude={"reason"}),
            batch_id=str(batch_id),
            headline=certificate.reason or "",
            records=state.records,
            read=state.read,
            conflicts=len(state.conflicts),
            uncertain=len(state.uncertain),
            excluded_by_rules=state.unread_by_software[Outcome.INELIGIBLE],
            excluded_by_model=state.unread_by_software[Outcome.EXCLUDED],
            double_reading=double and double.model_copy(update={"counts": double.counts and human_errors}),
            estimate=_estimate(state, promise),
            expected=_expected(state, hoped),
            prices=_prices(reading, frames, hoped) if priced else (),
            samples=samples_of(connection, batch_id, frames, state),
        )
    )


def _estimate(state: ReadingState, promise: Promise) -> StopEstimate:
    p = missed_recall_p([*state.included.values()], state.records, promise.recall)
    return StopEstimate(p=p, stops=p < 1 - promise.confidence)


def _probabilities(connection: Connection, batch_id: UUID, state: ReadingState) -> list[float]:
    """Return how likely each unread record is to be included, by the order last worked out; empty where it says not."""
    order = reading_orders.c
    row = connection.execute(select(order.places, order.probabilities).where(order.batch_id == batch_id)).one_or_none()
    if row is None:
        return []
    likely = dict(zip(row.places, row.probabilities, strict=True))
    known = [likely.get(place) for place in state.unread]
    return [] if None in known else [one for one in known if one is not None]


def _expected(state: ReadingState, probabilities: Sequence[float]) -> ExpectedIncludes:
    if probabilities:
        return expected_from_probabilities(probabilities)
    return expected_from_yield([*state.included.values()], len(state.unread))


def _prices(reading: Reading, frames: Sequence[StoredFrame], probabilities: Sequence[float]) -> tuple[StopPrice, ...]:
    """Return the price list. Includes are expected as the newest sample has shown them, else as the order hopes."""
    expected = sum(probabilities) if probabilities else None
    if frames and reading.frames[-1].read:
        frame = reading.frames[-1]
        expected = frame.found / frame.read * reading.unread
    return price_list(reading, expected)
