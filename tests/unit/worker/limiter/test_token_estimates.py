"""How many tokens a call will take."""

from random import Random

import pytest

from tamis_worker.limiter.token_estimates import TokenEstimates, believable


def test_before_the_first_call_four_characters_are_a_token_and_an_answer_has_250() -> None:
    estimates = TokenEstimates()
    assert estimates.of("filter", "m", 1_700, 1_024) == 675  # 1,700 / 4 + 250
    assert estimates.of("filter", "m", 1_700, 100) == 525  # an answer cannot be longer than it may be


def test_the_first_call_is_learned_in_full_and_later_ones_in_their_part() -> None:
    estimates = TokenEstimates()
    estimates.learn("filter", "m", 1_000, 500, 40)
    assert estimates.of("filter", "m", 2_000, 1_024) == 1_040  # 2,000 x 0.5 + 40
    estimates.learn("filter", "m", 1_000, 300, 60)
    assert estimates.of("filter", "m", 2_000, 1_024) == 850  # 2,000 x (0.5 + 0.3) / 2 + (40 + 60) / 2


def test_operations_and_models_learn_apart() -> None:
    estimates = TokenEstimates()
    estimates.learn("filter", "m", 1_000, 500, 40)
    assert estimates.of("extract", "m", 1_000, 1_024) == estimates.of("filter", "n", 1_000, 1_024) == 500


@pytest.mark.parametrize(("characters", "prompt_tokens"), [(1_000, 0), (0, 10)])
def test_nothing_is_learned_where_the_endpoint_does_not_count(characters: int, prompt_tokens: int) -> None:
    estimates = TokenEstimates()
    estimates.learn("filter", "m", characters, prompt_tokens, 0)
    assert estimates.of("filter", "m", 1_000, 1_024) == 500


def test_over_many_calls_estimates_and_use_are_equal_also_after_a_change() -> None:
    chance = Random(1)
    estimates = TokenEstimates()
    for ratio, answer in ((0.22, 60), (0.4, 300)):
        estimated = used = 0
        for call in range(600):
            characters = chance.randint(500, 4_000)
            prompt, completion = round(characters * ratio * chance.uniform(0.9, 1.1)), chance.randint(1, 2 * answer)
            if call >= 200:
                estimated += estimates.of("filter", "m", characters, 4_096)
                used += prompt + completion
            estimates.learn("filter", "m", characters, prompt, completion)
        assert estimated / used == pytest.approx(1, abs=0.03)


@pytest.mark.parametrize(
    ("tokens", "characters", "max_tokens", "believed"),
    [
        (2_000, 6_800, 1_024, True),
        (0, 0, 0, True),
        (4 * 6_800 + 1_024 + 100_000, 6_800, 1_024, True),
        (4 * 6_800 + 1_024 + 100_001, 6_800, 1_024, False),
        (10**11, 100_000, 1_024, False),
    ],
)
def test_more_tokens_than_prompt_answer_and_thoughts_can_have_are_not_believed(
    tokens: int, characters: int, max_tokens: int, believed: bool
) -> None:
    assert believable(tokens, characters, max_tokens) is believed
