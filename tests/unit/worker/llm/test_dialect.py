"""How an endpoint's refusals change the way it is asked."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis_worker.llm.chat import ChatRequest, Message
from tamis_worker.llm.dialect import (
    BELOW,
    NEWER_BUDGET,
    OLDER_BUDGET,
    REFUSING,
    REMINDER,
    Dialect,
    ParameterRefusal,
    Rung,
    after_refusal,
    body,
    instruction,
)

SCHEMA = {
    "type": "object",
    "properties": {"confidence": {"type": "number", "minimum": 0, "maximum": 1}},
    "required": ["confidence"],
    "additionalProperties": False,
}
SYSTEM, USER = Message("system", "You screen."), Message("user", "Is it a trial?")


def request(*messages: Message, temperature: float | None = 0.0) -> ChatRequest:
    return ChatRequest("m", messages or (SYSTEM, USER), "filter", SCHEMA, temperature, 100)


@pytest.mark.spec("1.48")
def test_a_request_with_every_bound_asks_for_everything() -> None:
    written = body(request(), Dialect())
    named = written["response_format"]["json_schema"]
    assert (written["model"], written["max_tokens"], written["temperature"]) == ("m", 100, 0.0)
    assert (named["name"], named["strict"]) == ("filter", True)
    assert len(named["schema"]["properties"]["confidence"]["enum"]) == 101
    assert written["messages"] == [
        {"role": "system", "content": "You screen."},
        {"role": "user", "content": "Is it a trial?"},
    ]


def test_the_strict_rung_sends_the_portable_schema() -> None:
    named = body(request(), Dialect(Rung.STRICT))["response_format"]["json_schema"]
    assert named["schema"]["properties"]["confidence"] == {"type": "number"}


@pytest.mark.parametrize(
    ("rung", "response_format"),
    [(Rung.JSON_OBJECT, {"type": "json_object"}), (Rung.TEXT, None), (Rung.REMINDED, None)],
)
def test_without_a_schema_the_system_message_tells_it(rung: Rung, response_format: object) -> None:
    written = body(request(), Dialect(rung))
    assert written.get("response_format") == response_format
    system = written["messages"][0]["content"]
    assert system.startswith("You screen.\n\nAnswer with one JSON object")
    assert '"maximum":1' in system


def test_without_a_system_message_one_is_put_first() -> None:
    roles = [message["role"] for message in body(request(USER), Dialect(Rung.TEXT))["messages"]]
    assert roles == ["system", "user"]


@pytest.mark.parametrize(("rung", "reminded"), [(rung, rung is Rung.REMINDED) for rung in Rung])
def test_the_lowest_rung_ends_with_the_reminder_and_no_other_does(rung: Rung, reminded: bool) -> None:
    last = body(request(), Dialect(rung))["messages"][-1]
    assert last["role"] == "user"
    assert last["content"].startswith("Is it a trial?")
    assert last["content"].endswith(f"\n\n{REMINDER}") is reminded


ANSWERED = (SYSTEM, USER, Message("assistant", "Yes."), Message("user", "This answer cannot be used."))


@pytest.mark.parametrize("rung", Rung)
def test_a_repair_shows_the_schema_once_on_every_rung(rung: Rung) -> None:
    written = body(request(*ANSWERED), Dialect(rung))
    shown = [message["content"].count(instruction(SCHEMA)) for message in written["messages"]]
    assert sum(shown) == 1
    assert (shown[-1] == 1) is (rung in (Rung.STRICT, Rung.BOUNDED))  # elsewhere the system message has it
    assert [message["role"] for message in written["messages"]] == ["system", "user", "assistant", "user"]


def test_a_request_is_not_changed_by_being_written() -> None:
    asked = request(*ANSWERED)
    body(asked, Dialect(Rung.REMINDED))
    assert asked == request(*ANSWERED)


def test_a_temperature_of_none_is_not_sent() -> None:
    assert "temperature" not in body(request(temperature=None), Dialect())
    assert "temperature" not in body(request(), Dialect(left_out=frozenset({"temperature"})))


FORMAT_REFUSALS = [
    ParameterRefusal(
        400, "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model."
    ),
    ParameterRefusal(400, "Invalid schema for response_format 'x': In context=(), 'maxLength' is not permitted."),
    ParameterRefusal(400, "This response_format type is unavailable now"),
    ParameterRefusal(
        400, "Unable to generate parser for this template. JSON schema error at #: unrecognized type flurb"
    ),
    ParameterRefusal(400, "Failed to parse grammar"),
    ParameterRefusal(
        422, "[{'loc': ['body', 'response_format', 'json_schema'], 'msg': 'Extra inputs are not permitted'}]"
    ),
    ParameterRefusal(400, "The guided decoding backend does not support this"),
    ParameterRefusal(400, "bad", param="response_format"),
]


@pytest.mark.parametrize("refusal", FORMAT_REFUSALS, ids=lambda refusal: refusal.message[:40])
@pytest.mark.parametrize("rung", BELOW)
def test_a_refused_format_moves_one_rung_down(rung: Rung, refusal: ParameterRefusal) -> None:
    assert after_refusal(Dialect(rung), refusal) == Dialect(BELOW[rung])


@pytest.mark.parametrize("refusal", FORMAT_REFUSALS, ids=lambda refusal: refusal.message[:40])
@pytest.mark.parametrize("rung", [Rung.TEXT, Rung.REMINDED])
def test_below_plain_text_there_is_nothing_to_refuse(rung: Rung, refusal: ParameterRefusal) -> None:
    assert after_refusal(Dialect(rung), refusal) is None


NEWER = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."


def test_a_refused_budget_changes_its_name_once() -> None:
    refusal = ParameterRefusal(400, NEWER, "max_tokens", "unsupported_parameter")
    renamed = Dialect(budget=NEWER_BUDGET)
    assert after_refusal(Dialect(), refusal) == renamed
    assert body(request(), renamed)[NEWER_BUDGET] == 100
    assert OLDER_BUDGET not in body(request(), renamed)
    assert after_refusal(renamed, refusal) is None


def test_a_budget_that_is_too_large_is_not_a_refusal_of_its_name() -> None:
    message = "max_tokens is too large: 99999. This model allows at most 4096 completion tokens."
    assert after_refusal(Dialect(), ParameterRefusal(400, message, "max_tokens", "invalid_value")) is None


@pytest.mark.parametrize(
    "message",
    [
        "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) value is supported.",
        "Unsupported parameter: 'temperature' is not supported with this model.",
        "`temperature` is deprecated for this model.",
    ],
)
def test_a_refused_temperature_is_left_out(message: str) -> None:
    assert after_refusal(Dialect(), ParameterRefusal(400, message)) == Dialect(left_out=frozenset({"temperature"}))


def test_a_temperature_out_of_range_is_an_error_to_be_seen() -> None:
    assert after_refusal(Dialect(), ParameterRefusal(400, "temperature must be between 0 and 1", "temperature")) is None


@pytest.mark.parametrize("status", [401, 403, 404, 413, 429, 500, 503])
def test_only_a_refused_request_says_anything_about_the_dialect(status: int) -> None:
    assert after_refusal(Dialect(), ParameterRefusal(status, "response_format json_schema not supported")) is None


left_out = st.sampled_from([frozenset[str](), frozenset({"temperature"})])
dialects = st.builds(Dialect, st.sampled_from(Rung), st.sampled_from([OLDER_BUDGET, NEWER_BUDGET]), left_out)
words = st.sampled_from(["response_format", "max_tokens", "temperature", "not supported", "schema", "messages"])
refusals = st.builds(
    ParameterRefusal,
    st.sampled_from([*REFUSING, 500]),
    st.lists(words, max_size=4).map(" ".join),
    st.none() | words,
    st.none() | st.just("unsupported_parameter"),
)


@given(dialects, st.lists(refusals, min_size=6, max_size=20))
def test_a_dialect_only_ever_loses_so_asking_again_ends(dialect: Dialect, heard: list[ParameterRefusal]) -> None:
    changes = 0
    for refusal in heard:
        following = after_refusal(dialect, refusal)
        if following is not None:
            changes += 1
            dialect = following
    assert changes <= 5  # three rungs, the budget's name, the temperature
