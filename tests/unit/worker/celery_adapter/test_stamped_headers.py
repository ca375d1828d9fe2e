"""Which items headers name, in both forms in which Celery sends them."""

from uuid import UUID

import pytest

from tamis_worker.celery_adapter.delivery import named_by, stamps_of
from tamis_worker.ledger.claims import ItemKey

A, B = UUID(int=1), UUID(int=2)
OF_A = {ItemKey(A, 0), ItemKey(A, 7)}


@pytest.mark.parametrize(
    ("headers", "named"),
    [
        ({"batch_id": str(A)}, OF_A),
        ({"batch_id": [str(A), str(B)]}, OF_A | {ItemKey(B, 7)}),
        ({"item": f"{A}/7"}, {ItemKey(A, 7)}),
        ([f"item={A}/7", f"item={B}/7"], {ItemKey(A, 7), ItemKey(B, 7)}),  # of one name, each counts
        ([f"batch_id={B}", f"item={A}/0"], {ItemKey(A, 0), ItemKey(B, 7)}),
    ],
)
def test_an_item_is_named_by_its_batch_or_by_itself(headers: object, named: set[ItemKey]) -> None:
    found = named_by(headers)
    assert {key for key in [*OF_A, ItemKey(B, 7)] if key in found} == named


def test_what_an_item_shows_as_its_headers_names_it_and_no_other() -> None:
    stamps = stamps_of(ItemKey(A, 7))
    assert ItemKey(A, 0) in named_by({"batch_id": stamps["batch_id"]})
    assert named_by({"item": stamps["item"]}).keys == {ItemKey(A, 7)}


@pytest.mark.parametrize(
    ("headers", "said"),
    [
        ({}, "no header: name items"),
        (None, "no header: name items"),
        (["batch_id=12ab"], "'12ab' is not a batch's id"),
        ([f"item={A}"], "is not BATCH_ID/INDEX"),
        ([f"item={A}/-1"], "is not BATCH_ID/INDEX"),
        (["monitoring_id=7"], "no item has the header 'monitoring_id'"),
    ],
)
def test_a_header_that_names_no_item_is_an_error_that_says_what_does(headers: object, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        named_by(headers)
