"""What a bill may lack, as an estimate and in words."""

from decimal import Decimal

import pytest

from tamis_schemas import PossiblyUnbilled, possibly_unbilled_cost

D = Decimal


@pytest.mark.parametrize(
    ("n", "mean", "cost"),
    [
        (12, "0.0026", "0.0312"),
        (3, "0.0000000033333", "0.000000010"),  # 9.9999e-9, up to the next nanodollar
        (5, "0", "0"),
        (5, None, None),
        (0, "0.0026", None),
    ],
)
def test_each_call_is_taken_for_what_a_paid_item_cost(n: int, mean: str | None, cost: str | None) -> None:
    assert possibly_unbilled_cost(n, None if mean is None else D(mean)) == (None if cost is None else D(cost))


@pytest.mark.parametrize(
    ("figures", "words"),
    [
        (PossiblyUnbilled(), None),
        (
            PossiblyUnbilled(unanswered=3, possibly_unbilled_cost=D("0.0078")),
            "up to about $0.0078 (3 calls whose end nobody knows)",
        ),
        (
            PossiblyUnbilled(unanswered=1, lost_claims=1200, possibly_unbilled_cost=D("1.5")),
            "up to about $1.50 (1 call whose end nobody knows, 1,200 claims whose worker died)",
        ),
        (PossiblyUnbilled(lost_claims=1), "price not known (1 claim whose worker died)"),
    ],
)
def test_calls_and_claims_are_told_apart(figures: PossiblyUnbilled, words: str | None) -> None:
    assert figures.unbilled_words == words


def test_the_sum_is_told_to_programs_and_read_back() -> None:
    figures = PossiblyUnbilled(unanswered=1, lost_claims=2, possibly_unbilled_cost=D("0.3"))
    told = figures.model_dump(mode="json")
    assert told == {"unanswered": 1, "lost_claims": 2, "possibly_unbilled_cost": 0.3, "possibly_unbilled": 3}
    assert PossiblyUnbilled.model_validate(told) == figures
