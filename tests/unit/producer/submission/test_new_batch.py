"""What identifies a batch's content."""

from dataclasses import replace
from decimal import Decimal

import pytest

from tamis_producer.submission.new_batch import NewBatch, rows_of
from tamis_schemas import Exclusion, InvalidParameters, Priority, Steering, Tier

BATCH = NewBatch(
    "filter",
    {"operation": "filter", "criteria": "Is it?"},
    "gpt-5-mini",
    rows_of([{"id": "1", "title": "Sieves"}]),
    shard_size=500,
    window=4,
)


def test_a_batch_that_is_not_steered_is_known_by_what_it_was_known_by_in_all_releases() -> None:
    """Recorded from the release before there was steering: an idempotency key that it kept is found."""
    assert BATCH.content_sha256 == "afd027747d8019f721ec4972b0bc473626c753114b3cb2964cf44a412b83088e"


def test_how_the_same_work_is_done_is_no_content() -> None:
    steering = Steering(tier=Tier.FLEX, tier_patience=5)
    other = replace(BATCH, priority=Priority.HIGH, max_cost=Decimal(1), steering=steering, label="another")
    assert other.content_sha256 == BATCH.content_sha256


def test_what_can_change_an_answer_is_content() -> None:
    steerings = [
        Steering(),
        Steering(reasoning_effort="low"),
        Steering(extra_body={"top_p": 0.9}),
        Steering(extra_headers={"X-Model": "other"}),
    ]
    assert len({replace(BATCH, steering=one).content_sha256 for one in steerings}) == len(steerings)


def test_the_content_of_many_items_and_exclusions_is_known_by_what_it_was_known_by_in_all_releases() -> None:
    """Recorded from the release that held all items of a batch in memory."""
    exclusions = {place: Exclusion(rule="duplicate", reason="A copy.", duplicate_of=0) for place in range(1, 1200, 7)}
    items = ({"id": str(number), "title": f"Sieves, part {number}"} for number in range(1201))
    many = replace(BATCH, items=rows_of(items, exclusions))
    assert many.content_sha256 == "363779abded3aad03d8208b7830ebca386ecccced3b4c6e97ae36722f2d90358"
    assert len(many.items) == 1201


@pytest.mark.parametrize("place", [-1, 3, 10**12])
def test_an_exclusion_without_an_item_is_named(place: int) -> None:
    exclusion = Exclusion(rule="duplicate", reason="A copy.")
    with pytest.raises(InvalidParameters, match=f"^exclusions: there is no item at place {place}; the last is 2$"):
        rows_of([{"id": "1"}] * 3, {0: exclusion, place: exclusion})
