"""What identifies a batch's content."""

from dataclasses import replace
from decimal import Decimal

from tamis_producer.new_batch import NewBatch, rows_of
from tamis_schemas import Priority, Steering, Tier

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
