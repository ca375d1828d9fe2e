"""How many items are read at once, and how a page leads to the next."""

import pytest
from starlette.datastructures import URL

from tamis_producer.gateway.frame import allowed
from tamis_producer.gateway.pages import MOST_ROWS, PIECE_BYTES, next_rows
from tamis_producer.gateway.result_forms import link


@pytest.mark.parametrize(
    ("rows", "size", "then"),
    [
        (20, PIECE_BYTES, 20),
        (20, 2 * PIECE_BYTES, 10),
        (20, PIECE_BYTES // 2, 40),
        (20, 1, 80),  # not many times more at once
        (400, 1_000, MOST_ROWS),
        (1, 20_000_000, 1),
        (20, 0, 80),
    ],
)
def test_a_portion_is_a_pieces_worth_of_items(rows: int, size: int, then: int) -> None:
    assert next_rows(rows, size) == then


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("http://x/v1/batches/1/results?limit=2", '</v1/batches/1/results?limit=2&after=7>; rel="next"'),
        (
            "http://x/v1/batches/1/results?after=3&limit=2&form=csv",
            '</v1/batches/1/results?limit=2&form=csv&after=7>; rel="next"',
        ),
    ],
)
def test_the_next_page_is_the_same_request_behind_the_last_item(url: str, told: str) -> None:
    assert link(URL(url), 7) == told


def test_a_body_may_take_half_a_minute_and_the_time_of_its_bytes() -> None:
    assert [allowed(size) for size in (0, 10_000, 500_000_000)] == [30, 31, 50_030]
