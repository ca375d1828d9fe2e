"""When a part is started again."""

import signal

import pytest

from tamis_cli.embedded.process import how_it_ended
from tamis_cli.embedded.watch import failures_in_a_row, restart_delay


@pytest.mark.parametrize(
    ("failures", "seconds"),
    # 0.5 * 2^(n-1), at most 30
    [(1, 0.5), (2, 1.0), (3, 2.0), (4, 4.0), (5, 8.0), (6, 16.0), (7, 30.0), (8, 30.0), (10_000, 30.0)],
)
def test_the_delay_doubles_up_to_half_a_minute(failures: int, seconds: float) -> None:
    assert restart_delay(failures) == seconds


def test_ends_in_a_row_are_counted_until_one_came_after_a_steady_minute() -> None:
    assert failures_in_a_row(3, ran_for=59.9) == 4
    assert failures_in_a_row(3, ran_for=60.0) == 1


def test_an_end_is_told_in_words() -> None:
    assert how_it_ended(75) == "made no progress and ended itself with status 75"
    assert how_it_ended(3) == "ended with status 3"
    assert how_it_ended(-signal.SIGKILL) == "was ended by SIGKILL"
    assert how_it_ended(-200) == "was ended by signal 200"
