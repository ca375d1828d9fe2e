"""How far a frame is read, as the certificate takes it: its first records without a gap, and what lies outside."""

from datetime import UTC, datetime
from uuid import uuid4

from tamis_producer.ledger.stop_samples import Promise, StoredFrame
from tamis_review.decisions.final_outcome import Outcome
from tamis_review.decisions.stop_samples import ReadingState, first_read, next_number, promise_of, reading_of
from tamis_review.quality.certificate import DoubleRead
from tamis_review.quality.sampling_frame import SamplingFrame
from tamis_schemas import DoubleReading

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def frame(*records: int, number: int = 1, drawn: int = 3, closed: bool = False) -> StoredFrame:
    at = NOON if closed else None
    return StoredFrame(uuid4(), uuid4(), number, 7, 0.9, 0.8, records, drawn, NOON, at)


def state(included: dict[int, bool], n: int = 10, double: DoubleReading | None = None) -> ReadingState:
    return ReadingState(dict.fromkeys(range(n), Outcome.EXCLUDED), included, frozenset(), frozenset(), double)


def test_the_first_records_count_up_to_the_first_gap_whoever_read_them() -> None:
    # 0 to 3 were read before; of the frame 8, 5 and 4 are read, beyond those drawn, then 9 is a gap, and 7 is read.
    read = state({0: True, 1: True, 2: False, 8: False, 5: True, 4: False, 7: True})
    opened = frame(8, 5, 4, 9, 7, 6)
    assert first_read(opened, read) == 3
    reading = reading_of(read, [opened], 2)
    # 3 is unread, and was read when the frame was made: it may be an include that no sample speaks for.
    assert reading.frames == (SamplingFrame(6, (False, True, False), found_outside=2, unread_outside=1),)
    assert (reading.found, reading.unread) == (4, 3)


def test_attempts_that_are_no_frames_leave_a_gap_in_the_numbers() -> None:
    read = state({0: True})
    untouched = SamplingFrame(9, (), 1)
    assert reading_of(read, [], 1).frames == (untouched,)
    assert reading_of(read, [], 3).frames == (untouched,) * 3  # two audits before it
    second = frame(*range(1, 10), number=2)
    assert reading_of(read, [second], 3).frames == (untouched, SamplingFrame(9, (), 1))
    closed = reading_of(read, [frame(*range(1, 10), number=2, closed=True)], 3)
    assert len(closed.frames) == 3
    assert (next_number([], []), next_number([second], [])) == (1, 3)


def test_what_people_overlook_is_taken_in_where_enough_of_it_was_measured_and_it_is_wanted() -> None:
    double = DoubleReading(records=30, includes=12, missed_by_one=2, whole=True, counts=True)
    reading = reading_of(state({0: True}, double=double), [], 1)
    assert (reading.double_read, reading.readers) == (DoubleRead(12, 2), 2)
    part = double.model_copy(update={"whole": False})
    assert reading_of(state({0: True}, double=part), [], 1).readers == 1
    few = double.model_copy(update={"counts": False})
    for read, wanted in ((state({0: True}, double=few), True), (state({0: True}, double=double), False)):
        assert reading_of(read, [], 1, human_errors=wanted).double_read is None


def test_what_is_not_asked_for_is_what_the_last_sample_was_drawn_for() -> None:
    assert promise_of([], None, 0.99) == Promise(0.95, 0.99)
    assert promise_of([frame(1)], 0.5, None) == Promise(0.5, 0.8)
