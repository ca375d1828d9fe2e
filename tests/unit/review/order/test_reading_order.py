"""The whole order of a batch: unread records, what rules excluded, and last what is decided."""

from uuid import UUID

from tamis_review.order.candidates import Candidate
from tamis_review.order.order_store import OrderTerms
from tamis_review.order.refit import FeatureCache, reading_order
from tamis_review.order.text_features import TextFeatures
from tamis_schemas import ReadingReason


def record(
    index: int, score: float | None, *, rule: str | None = None, decided: bool = False, included: bool | None = None
) -> Candidate:
    return Candidate(index, f"r{index}", "", "", score, rule, decided, included)


def empty(n: int) -> TextFeatures:
    return TextFeatures.of([""] * n)


def test_the_places_are_the_batchs_own_and_decided_records_stand_last() -> None:
    records = [
        record(10, 0.2),
        record(12, 0.8),
        record(13, None, rule="title_pattern"),
        record(17, 0.9, decided=True, included=True),
        record(20, None, decided=True),  # a person is not sure: it is read, and says nothing
        record(21, None),
    ]
    order = reading_order(empty(6), records, {3: True}, OrderTerms(0, 0.0))
    assert order.places == [12, 21, 10, 13, 17, 20]  # without a score: half-way
    assert order.reasons == ["model", "model", "model", "rule", "returned", "returned"]
    assert (order.decided, order.included, order.text_weight) == (2, 1, 0.0)


def test_chance_draws_its_share_of_what_no_rule_excluded() -> None:
    records = [record(n, n / 200, rule="title_pattern" if n % 2 else None) for n in range(200)]
    order = reading_order(empty(200), records, {}, OrderTerms(3, 0.2))
    drawn = [place for place, why in zip(order.places, order.reasons, strict=True) if why is ReadingReason.EXPLORATION]
    assert len(drawn) in (19, 20, 21)  # 100 * 0.2, give or take one
    assert not [place for place in drawn if place % 2]
    assert all(place % 2 for place in order.places[100:])
    again = reading_order(empty(200), records, {}, OrderTerms(3, 0.2))
    other = reading_order(empty(200), records, {}, OrderTerms(4, 0.2))
    assert again == order
    assert other.places != order.places


def test_features_are_made_once_and_the_oldest_are_given_up() -> None:
    cache, made = FeatureCache(records=5), []

    def features(of: int, n: int) -> TextFeatures:
        def make() -> TextFeatures:
            made.append(of)
            return empty(n)

        return cache.features(UUID(int=of), make)

    assert features(1, 2) is features(1, 2)
    features(2, 3)
    features(1, 2)  # used last
    features(3, 3)  # with it there are eight records: the second goes, and five stay
    features(1, 2)
    features(2, 3)
    features(4, 90)  # larger than all that is kept: it stays alone
    features(4, 90)
    assert made == [1, 2, 3, 2, 4]
