"""An option that an endpoint refuses is left out from then on, in the words in which endpoints refuse."""

from typing import Any

import pytest

from tamis_schemas import Steering, Tier
from tamis_worker.llm.chat import ChatRequest, Message
from tamis_worker.llm.dialect import Dialect, ParameterRefusal, after_refusal, body

STEERED = Steering(
    reasoning_effort="low", tier=Tier.FLEX, extra_body={"reasoning": {"effort": "low"}, "top_k": 5, "verbosity": "low"}
).options
NAMES = ("temperature", *STEERED)


def sent(dialect: Dialect) -> dict[str, Any]:
    request = ChatRequest("m", (Message("user", "Is it?"),), "filter", {}, 0.0, 100, options=STEERED)
    return {name: value for name, value in body(request, dialect).items() if name in NAMES}


def test_everything_that_is_steered_goes_out() -> None:
    assert sent(Dialect()) == {
        "temperature": 0.0,
        "reasoning_effort": "low",
        "service_tier": "flex",
        "reasoning": {"effort": "low"},
        "top_k": 5,
        "verbosity": "low",
    }


@pytest.mark.parametrize(
    ("refusal", "left_out"),
    [
        (
            ParameterRefusal(
                400,
                "Unsupported parameter: 'reasoning_effort' is not supported with this model.",
                "reasoning_effort",
                "unsupported_parameter",
            ),
            "reasoning_effort",
        ),
        (ParameterRefusal(400, "Unrecognized request argument supplied: reasoning_effort"), "reasoning_effort"),
        (
            ParameterRefusal(
                400,
                "Unsupported value: 'reasoning_effort' does not support 'low' with this model. Supported values are: "
                "'medium' and 'high'.",
                "reasoning_effort",
                "unsupported_value",
            ),
            "reasoning_effort",
        ),
        (
            ParameterRefusal(
                400,
                "Unsupported parameter: 'reasoning.effort' is not supported with this model.",
                "reasoning.effort",
                "unsupported_parameter",
            ),
            "reasoning",  # what was sent under that name
        ),
        (ParameterRefusal(400, "Invalid service_tier argument", "service_tier"), "service_tier"),
        (ParameterRefusal(400, "Unsupported service_tier: flex"), "service_tier"),
        (
            ParameterRefusal(
                400,
                "Invalid service_tier argument: The requested service tier is not allowed for this project.",
                "service_tier",
            ),
            "service_tier",
        ),
        (ParameterRefusal(422, "body.top_k: Extra inputs are not permitted"), "top_k"),
        (ParameterRefusal(400, "unknown field `verbosity`"), "verbosity"),
    ],
)
def test_what_is_refused_is_left_out(refusal: ParameterRefusal, left_out: str) -> None:
    after = after_refusal(Dialect(), refusal, NAMES)
    assert after is not None
    assert sent(after) == {name: value for name, value in sent(Dialect()).items() if name != left_out}


@pytest.mark.parametrize(
    "refusal",
    [
        ParameterRefusal(400, "Invalid value for 'messages[0].role'.", "messages[0].role", "invalid_value"),
        ParameterRefusal(429, "service_tier is not supported now", "service_tier"),
        ParameterRefusal(500, "Unsupported parameter: 'top_k'", "top_k", "unsupported_parameter"),
    ],
)
def test_what_is_about_something_else_takes_nothing_away(refusal: ParameterRefusal) -> None:
    assert after_refusal(Dialect(), refusal, NAMES) is None
