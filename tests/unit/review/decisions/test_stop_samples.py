"""How far a frame is read, as the certificate takes it: its first records without a gap, and what lies outside."""

from datetime import UTC, datetime, timedelta
from random import Random
from uuid import uuid4

import pytest

from tamis_producer.ledger.stop_samples import Promise, StoredFrame
from tamis_review.decisions.final_outcome import Outcome
from tamis_review.decisions.stop_samples import (
    PAGE,
    ReadingState,
    double_reading,
    first_read,
    next_number,
    promise_of,
    reading_of,
)
from tamis_review.quality.certificate import DoubleRead
from tamis_review.quality.estimates import missed_recall_p
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


def in_pages(decisions: list[bool], page: int) -> ReadingState:
    """Decisions in the order of reading, recorded `page` at a time."""
    moments = {place: NOON + timedelta(minutes=place // page) for place in range(len(decisions))}
    outcomes = dict.fromkeys(range(500), Outcome.EXCLUDED)
    return ReadingState(outcomes, dict(enumerate(decisions)), frozenset(), frozenset(), None, moments)


def test_decisions_that_a_file_brought_have_no_reading_order() -> None:
    imported = [place < 21 for place in range(200)]  # sorted by decision
    state = in_pages(imported, 200)
    assert (state.in_order, state.together) == (None, 200)
    assert missed_recall_p(imported, 500, 0.75) < 0.05  # the order of the rows would have stopped the reading
    later = in_pages([*imported, True, False], 200)
    assert (later.in_order, later.together) == (None, 200)  # also if people read on


def test_rows_of_one_moment_let_the_estimator_stop_no_earlier_in_any_order() -> None:
    for seed in range(20):
        draw = Random(seed)
        read = [draw.random() < (0.5 if place < 60 else 0.05) for place in range(200)]
        pages = [read[start : start + 20] for start in range(0, 200, 20)]
        ordered = in_pages(read, 20).in_order
        assert ordered is not None
        assert missed_recall_p(ordered, 500) >= missed_recall_p(read, 500)
        for page in pages:
            draw.shuffle(page)
        assert in_pages([include for page in pages for include in page], 20).in_order == ordered


def test_decisions_recorded_singly_or_in_pages_keep_their_order() -> None:
    read = [True, False, True, False, False]
    assert in_pages(read, 1).in_order == tuple(read)
    assert in_pages([True] * PAGE, PAGE).together == 0
    assert in_pages([True] * (PAGE + 1), PAGE + 1).together == PAGE + 1


MISSES = 0.15  # of each of two readers


def two_readers(seed: int, second_reads: str) -> tuple[DoubleReading, DoubleRead]:
    """Read 400 records with 120 includes; the second reader reads those of the first one's decision, or a third."""
    draw = Random(seed)
    true = {place: place % 10 < 3 for place in range(400)}
    first, second = ({place: true[place] and draw.random() >= MISSES for place in true} for _ in range(2))
    reads = {"includes": first.__getitem__, "excludes": lambda place: not first[place], "a third": lambda _: True}
    pairs = {place: (first[place], second[place]) for place in true if reads[second_reads](place)}
    if second_reads == "a third":
        pairs = {place: pairs[place] for place in sorted(draw.sample(sorted(pairs), 133))}
    final = {place: first[place] or (place in pairs and second[place]) for place in true}
    double = double_reading(pairs, final)
    return double, DoubleRead(double.includes, double.missed_by_one, double.selected)


def test_where_the_second_reader_checks_only_excludes_nothing_is_measured() -> None:
    for seed in range(20):
        double, _ = two_readers(seed, "excludes")
        assert (double.selected, double.includes, double.counts) == (True, 0, False)
        assert reading_of(state({0: True}, double=double), [], 1).double_read is None


def test_where_the_second_reader_checks_only_includes_the_bound_is_that_of_the_second_reader() -> None:
    bounds = []
    for seed in range(40):
        double, measured = two_readers(seed, "includes")
        assert (double.selected, double.counts) == (True, True)
        bounds.append(measured.miss_rate(0.95))
    assert sum(bound >= MISSES for bound in bounds) >= 36


def test_a_random_part_is_measured_from_both_sides() -> None:
    bounds = []
    selected = 0
    for seed in range(40):
        double, measured = two_readers(seed, "a third")
        selected += double.selected
        bounds.append(measured.miss_rate(0.95))
    assert selected <= 2
    assert sum(bound >= MISSES for bound in bounds) >= 36


def test_two_who_read_everything_are_not_called_selected() -> None:
    everything = {place: (place < 20, place < 20) for place in range(60)}
    double = double_reading(everything, {place: place < 20 for place in range(60)})
    assert (double.selected, double.whole, double.includes) == (False, True, 20)


@pytest.mark.parametrize("kind", [True, False])
def test_few_records_all_of_one_kind_are_selected(kind: bool) -> None:
    final = {place: place < 10 for place in range(400)}
    same = [place for place in final if final[place] is kind][:8]
    assert double_reading(dict.fromkeys(same, (kind, kind)), final).selected


def test_a_few_records_of_the_other_kind_do_not_hide_that_records_were_chosen() -> None:
    final = {place: place < 100 for place in range(400)}
    mostly_includes = [*range(90), *range(100, 110)]
    assert double_reading({place: (final[place], True) for place in mostly_includes}, final).selected
    every_third = {place: (final[place], final[place]) for place in range(0, 400, 3)}
    assert not double_reading(every_third, final).selected
