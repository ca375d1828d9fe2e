"""What a model may be told beside its question, and how a batch's steering goes over a worker's."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from tamis_schemas import NO_STEERING, Steering, SteeringView, Tier, TierFallback
from tamis_schemas.batches.steering import OWN_FIELDS, OWN_HEADERS

SECRET = "hunter2-hunter2"


def deep(levels: int) -> object:
    return 1 if levels == 0 else {"a": deep(levels - 1)}


@pytest.mark.parametrize("effort", ["none", "minimal", "low", "medium", "high", "xhigh", "max-2"])
def test_an_effort_is_a_short_word(effort: str) -> None:
    assert Steering(reasoning_effort=effort).options == {"reasoning_effort": effort}


@pytest.mark.parametrize("effort", ["", "High", "very high", "low\n", "-", "9", "x" * 33, "höher"])
def test_anything_else_is_no_effort(effort: str) -> None:
    with pytest.raises(ValidationError, match="not a lower-case word"):
        Steering(reasoning_effort=effort)


@pytest.mark.parametrize(
    "body",
    [
        {"top_p": 0.9},
        {"chat_template_kwargs": {"enable_thinking": False}},
        {"stop": ["\n"]},
        {"a": deep(7)},
        {"a": [[[[[[[]]]]]]]},
    ],
)
def test_fields_of_a_provider_go_out_as_they_are(body: dict[str, Any]) -> None:
    assert Steering(extra_body=body).options == body


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        *(({name: 1}, f"'{name}' is set by Tamis") for name in sorted(OWN_FIELDS)),
        ({"": 1}, "no name"),
        ({"top_p": None}, "omit it"),
        ({"top_p": float("nan")}, "not JSON"),
        ({"top_p": float("inf")}, "not JSON"),
        ({"a": {1, 2}}, "not JSON"),
        ({"a": "x" * 16_001}, "16,010 characters as JSON"),  # {"a": "..."}: nine more than the text
        ({"a": deep(8)}, "more than 8 deep"),
        ({"a": "\x00"}, "cannot store"),
        ({"a": "\ud800"}, "cannot store"),
        ([1], "dictionary"),
    ],
)
def test_fields_that_tamis_writes_or_nobody_can_send_are_refused(body: Any, complaint: str) -> None:
    with pytest.raises(ValidationError, match=complaint):
        Steering(extra_body=body)


@pytest.mark.parametrize(
    "headers", [{"X-Team": "reviews"}, {"api-key": SECRET}, {"OpenAI-Organization": "org-1"}, {"A": "a, b;\tc"}]
)
def test_a_header_is_a_name_and_a_line(headers: dict[str, str]) -> None:
    assert Steering(extra_headers=headers).extra_headers == headers


@pytest.mark.parametrize(
    ("headers", "complaint"),
    [
        *(({name.title(): SECRET}, "is set by Tamis") for name in sorted(OWN_HEADERS)),
        ({"Content-Type": SECRET}, "is set by Tamis"),
        ({"content-length": SECRET}, "is set by Tamis"),
        ({"X-A": f"{SECRET}\r\nX-B: 1"}, "must be one line"),
        ({"X-A": f"{SECRET}\n"}, "must be one line"),
        ({"X-A": f" {SECRET}"}, "must be one line"),
        ({"X-A": f"{SECRET}\x00"}, "must be one line"),
        ({"X-A": f"{SECRET}é"}, "must be one line"),
        ({"X-A": ""}, "must be one line"),
        ({"X-A": SECRET * 300}, "must be one line"),
        ({"X A": SECRET}, "not a header name"),
        ({"X-A:": SECRET}, "not a header name"),
        ({"": SECRET}, "not a header name"),
        ({"X\n": SECRET}, "not a header name"),
        ({"X-A": SECRET, "x-a": SECRET}, "twice"),
        ({f"X-{n}": SECRET for n in range(21)}, "there are 21; at most 20 are allowed"),
    ],
)
def test_no_other_header_is_sent_and_no_complaint_repeats_a_value(headers: dict[str, str], complaint: str) -> None:
    with pytest.raises(ValidationError, match=complaint) as refused:
        Steering(extra_headers=headers)
    assert SECRET not in refused.value.errors(include_input=False)[0]["msg"]


@pytest.mark.parametrize(
    ("tier", "sent"), [(Tier.STANDARD, "default"), (Tier.FLEX, "flex"), (Tier.PRIORITY, "priority")]
)
def test_a_tier_goes_out_as_endpoints_call_it(tier: Tier, sent: str) -> None:
    assert Steering(tier=tier).options == {"service_tier": sent}


def test_without_a_tier_nothing_goes_out() -> None:
    assert NO_STEERING.options == {}


@pytest.mark.parametrize(
    "wrong",
    [{"tier": "cheap"}, {"tier_patience": -1}, {"tier_patience": "x"}, {"tier_fallback": "x"}, {"effort": "low"}],
)
def test_what_is_no_steering_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Steering.model_validate(wrong)


@pytest.mark.parametrize(
    ("over", "under", "merged"),
    [
        ({}, {"tier": "flex"}, {"tier": "flex"}),
        ({"tier": "standard"}, {"tier": "flex"}, {"tier": "standard"}),
        ({"tier": "flex"}, {"reasoning_effort": "low"}, {"tier": "flex", "reasoning_effort": "low"}),
        ({"tier_patience": 0}, {"tier_patience": 600}, {"tier_patience": 0}),
        ({"tier_fallback": "wait"}, {"tier_fallback": "standard"}, {"tier_fallback": "wait"}),
        (
            {"extra_body": {"a": 1, "b": {"c": 1}}},
            {"extra_body": {"b": {"d": 2}, "e": 3}},
            {"extra_body": {"a": 1, "b": {"c": 1}, "e": 3}},
        ),
        (
            {"extra_headers": {"x-team": "mine"}},
            {"extra_headers": {"X-Team": "ours", "X-Key": "k"}},
            {"extra_headers": {"X-Key": "k", "x-team": "mine"}},
        ),
    ],
)
def test_a_steering_goes_over_another_field_by_field(
    over: dict[str, Any], under: dict[str, Any], merged: dict[str, Any]
) -> None:
    assert Steering.model_validate(over).over(Steering.model_validate(under)) == Steering.model_validate(merged)


STEERINGS = st.builds(
    lambda given: Steering.model_validate(given),
    st.fixed_dictionaries(
        {},
        optional={
            "reasoning_effort": st.sampled_from(["low", "high"]),
            "extra_body": st.dictionaries(st.sampled_from("abc"), st.integers(0, 3)),
            "extra_headers": st.dictionaries(st.sampled_from(["X-A", "X-B"]), st.sampled_from("vw")),
            "tier": st.sampled_from(list(Tier)),
            "tier_patience": st.sampled_from([0.0, 1.0]),
            "tier_fallback": st.sampled_from(list(TierFallback)),
        },
    ),
)


@given(STEERINGS, STEERINGS, STEERINGS)
def test_it_does_not_matter_in_which_order_three_are_laid_over_each_other(
    first: Steering, second: Steering, third: Steering
) -> None:
    assert first.over(second).over(third) == first.over(second.over(third))
    assert first.over(NO_STEERING) == NO_STEERING.over(first) == first.over(first) == first


@given(STEERINGS)
def test_what_it_says_makes_the_same_steering_again(steering: Steering) -> None:
    assert Steering.model_validate(steering.set_fields) == steering
    assert not {name for name in steering.content if name.startswith("tier")}
    assert steering.content.items() <= steering.set_fields.items()


def test_of_headers_only_the_names_are_shown() -> None:
    steering = Steering(
        reasoning_effort="low",
        extra_body={"top_p": 0.9},
        extra_headers={"X-Key": SECRET},
        tier=Tier.FLEX,
        tier_patience=60,
        tier_fallback=TierFallback.WAIT,
    )
    view = SteeringView.of(steering)
    assert SECRET not in view.model_dump_json() + view.words + repr(steering)
    assert view.words == (
        'reasoning effort low, extra body {"top_p": 0.9}, extra headers X-Key, tier flex, '
        "waiting 60 s for capacity, then wait"
    )
