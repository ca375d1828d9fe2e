"""The flex tier comes and goes."""

import pytest

from llm_double.errors import Problem
from llm_double.personalities.flex_capacity import FlexCapacity
from stage.asking import asked


def refused(flex: FlexCapacity, *tiers: str | None) -> list[bool]:
    return [
        flex.refusal(asked(f"prompt {n}", **({} if tier is None else {"service_tier": tier}))) is not None
        for n, tier in enumerate(tiers)
    ]


def test_only_calls_of_the_flex_tier_find_no_capacity() -> None:
    assert refused(FlexCapacity(available=False), "flex", None, "default", "auto", "flex") == [
        True,
        False,
        False,
        False,
        True,
    ]


def test_capacity_is_away_for_the_flex_calls_named_and_others_do_not_count() -> None:
    flex = FlexCapacity(away=((2, 3), (5, 5)))
    assert refused(flex, "flex", "default", "flex", "flex", "flex", "flex", "flex") == [
        False,
        False,
        True,
        True,
        False,
        True,
        False,
    ]


def test_no_capacity_is_a_429_that_names_the_resource() -> None:
    problem = FlexCapacity(available=False, retry_after="7").refusal(asked("x", service_tier="flex"))
    assert isinstance(problem, Problem)
    assert (problem.status, problem.code, problem.headers) == (429, "resource_unavailable", {"retry-after": "7"})
    assert "Resource unavailable" in problem.message


def test_a_probable_want_of_capacity_hits_its_share_and_draws_anew_each_time_a_prompt_comes() -> None:
    flex = FlexCapacity(probability=0.3)
    assert 240 < sum(refused(flex, *["flex"] * 1000)) < 360  # 300 expected, 14.5 the standard deviation
    again = {flex.refusal(asked("one", service_tier="flex", seen=seen)) is None for seen in range(20)}
    assert again == {True, False}


@pytest.mark.parametrize(
    ("flex", "asked_for", "billed", "delay"),
    [
        (FlexCapacity(slower=3.0), "flex", "flex", 3.0),
        (FlexCapacity(slower=3.0), None, "default", 0.0),
        (FlexCapacity(slower=3.0, bills_default=1.0), "flex", "default", 0.0),
    ],
)
def test_the_answer_names_the_tier_at_which_it_is_billed(
    flex: FlexCapacity, asked_for: str | None, billed: str, delay: float
) -> None:
    request = asked("x", service_tier=asked_for)
    assert flex.completion(request, {"id": "x"}) == {"id": "x", "service_tier": billed}
    assert flex.delay(request) == delay
