"""Usage as no bill wants it."""

import pytest

from llm_double.personalities.behaviour import Behaviour, JsonObject
from llm_double.personalities.usage import UsageAbsurd, UsageMissing, UsageNullDetails, UsageZero
from stage.asking import asked

USAGE = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}


def each(value: object) -> JsonObject:
    return dict.fromkeys(USAGE, value)


@pytest.mark.parametrize(
    ("behaviour", "told"),
    [
        (UsageMissing(), None),
        (UsageZero(), each(0)),
        (UsageAbsurd(), each(10**11)),
        (UsageAbsurd(digits=4000), each(10**3999)),
        (UsageAbsurd(instead=-5), each(-5)),
        (UsageAbsurd(instead="many"), each("many")),
        (UsageNullDetails(), USAGE | {"prompt_tokens_details": None, "completion_tokens_details": None}),
    ],
)
def test_usage_is_told_as_the_personality_has_it(behaviour: Behaviour, told: JsonObject | None) -> None:
    assert behaviour.usage(asked("x"), dict(USAGE)) == told


def test_nulls_stand_wherever_something_may_be_left_out_and_replace_nothing() -> None:
    told = UsageNullDetails().completion(asked("x"), {"id": "a", "service_tier": "flex"})
    assert told == {"id": "a", "service_tier": "flex", "system_fingerprint": None}
