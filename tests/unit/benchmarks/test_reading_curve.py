"""The curve of finding counts what was read, and when each included record was found."""

import pytest
from benchmarks.reading_curve import ReadingCurve

# 10 records, of which rows 1, 4, 5 and 8 are included; read as 4, 0, 1, 5, 2, 8.
LABELS = [row in {1, 4, 5, 8} for row in range(10)]
ORDER = [4, 0, 1, 5, 2, 8]


def test_each_recall_says_how_many_were_read_for_it() -> None:
    curve = ReadingCurve.of(ORDER, LABELS)
    assert curve.found_at == (1, 3, 4, 6)
    assert [curve.read_for(recall) for recall in (0.25, 0.5, 0.75, 1.0)] == [1, 3, 4, 6]
    assert curve.read_for(0.0) == 0
    assert curve.share_read(0.75) == 0.4
    # WSS@75: 6 of 10 left unread, a random order leaves 1 - 0.75 = 0.25: 0.6 - 0.25 = 0.35
    assert curve.saved(0.75) == pytest.approx(0.35)


@pytest.mark.parametrize(("includes", "wanted"), [(15, 15), (20, 19), (36, 35), (43, 41), (100, 95), (119, 114)])
def test_95_percent_are_rounded_up(includes: int, wanted: int) -> None:
    # 0.95 * 15 = 14.25, * 20 = 19 exactly, * 36 = 34.2, * 43 = 40.85, * 100 = 95 exactly, * 119 = 113.05
    curve = ReadingCurve.of([], [True] * includes)
    assert curve.wanted(0.95) == wanted


def test_what_was_never_reached_has_no_figure() -> None:
    curve = ReadingCurve.of(ORDER[:4], LABELS)
    assert curve.read_for(0.75) == 4
    assert (curve.read_for(0.95), curve.share_read(0.95), curve.saved(0.95)) == (None, None, None)


def test_the_recall_grows_with_what_is_read() -> None:
    curve = ReadingCurve.of(ORDER, LABELS)
    assert [curve.recall_after(read) for read in (0, 1, 2, 3, 4, 5, 6, 10)] == [0, 0.25, 0.25, 0.5, 0.75, 0.75, 1, 1]


def test_no_record_is_read_twice() -> None:
    with pytest.raises(ValueError, match="twice"):
        ReadingCurve.of([1, 2, 1], LABELS)
