"""An endpoint that refuses the probabilities of tokens is asked without them, and nothing else is taken from it."""

import pytest

from tamis_worker.llm.chat import ChatRequest, Message, Rung
from tamis_worker.llm.dialect import NEWER_BUDGET, Dialect, ParameterRefusal, after_refusal, body

OPTIONS = {"logprobs": True, "top_logprobs": 5, "reasoning_effort": "low"}
NAMES = ("temperature", *OPTIONS)
BOTH = frozenset({"logprobs", "top_logprobs"})


@pytest.mark.parametrize(
    "refusal",
    [
        ParameterRefusal(400, "Unsupported parameter: 'logprobs' is not supported with this model.", "logprobs"),
        ParameterRefusal(403, "You are not allowed to request logprobs from this model."),
        ParameterRefusal(400, "Logprobs is not enabled for models/gemini-2.5-flash", code="INVALID_ARGUMENT"),
        ParameterRefusal(400, "deepseek-reasoner does not support the parameter `top_logprobs`"),
        ParameterRefusal(422, "[{'type': 'extra_forbidden', 'loc': ['body', 'logprobs'], 'input': True}]"),
        ParameterRefusal(400, "top_logprobs must be less than 2"),
        ParameterRefusal(501, "log probabilities are not implemented for this backend"),
        ParameterRefusal(400, "logprobs cannot be combined with response_format json_schema"),
    ],
)
def test_both_parameters_are_left_out_whatever_the_words(refusal: ParameterRefusal) -> None:
    after = after_refusal(Dialect(), refusal, NAMES)
    assert after == Dialect(left_out=BOTH)
    request = ChatRequest("m", (Message("user", "Is it?"),), "filter", {}, 0.0, 100, options=OPTIONS)
    assert BOTH.isdisjoint(body(request, after))
    assert body(request, after)["reasoning_effort"] == "low"
    assert body(request, Dialect()).keys() >= BOTH


@pytest.mark.parametrize(
    "refusal",
    [
        ParameterRefusal(403, "The project has no access to this model."),
        ParameterRefusal(400, "the catalogue of problems is empty"),  # its letters stand in other words
        ParameterRefusal(500, "logprobs failed"),
        ParameterRefusal(429, "too many logprobs"),
    ],
)
def test_other_errors_take_nothing_away(refusal: ParameterRefusal) -> None:
    assert after_refusal(Dialect(), refusal, NAMES) is None


def test_who_was_not_asked_for_them_cannot_refuse_them() -> None:
    refusal = ParameterRefusal(400, "Unsupported parameter: 'logprobs' is not supported with this model.")
    assert after_refusal(Dialect(), refusal, ("temperature",)) is None
    assert after_refusal(Dialect(left_out=BOTH), refusal, NAMES) is None
    assert after_refusal(Dialect(), ParameterRefusal(403, "no logprobs"), ("temperature",)) is None


def test_what_else_is_refused_is_found_as_before() -> None:
    refused = ParameterRefusal(
        400, "Unsupported parameter: 'max_tokens' is not supported with this model.", "max_tokens"
    )
    assert after_refusal(Dialect(), refused, NAMES) == Dialect(budget=NEWER_BUDGET)
    shape = ParameterRefusal(400, "response_format json_schema is not supported")
    assert after_refusal(Dialect(), shape, NAMES) == Dialect(Rung.STRICT)
