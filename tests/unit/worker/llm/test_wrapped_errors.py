"""Errors inside errors: what a gateway says of the model's own server."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis_schemas import ErrorKind
from tamis_worker.llm.call_error import MAX_MESSAGE, cleaned, of_answer, of_redirect, refusal_of
from tamis_worker.llm.dialect import ParameterRefusal

INNER = {"message": "response_format is not supported", "param": "response_format", "code": "unsupported_parameter"}


@pytest.mark.parametrize(
    "error",
    [
        {"message": "Provider returned error", "code": 400, "metadata": {"raw": json.dumps({"error": INNER})}},
        {"message": "Provider returned error", "code": 400, "metadata": {"raw": json.dumps(INNER)}},
        {"message": "Provider returned error", "code": 400, "metadata": {"raw": {"error": INNER}}},
        {
            "message": "Provider returned error",
            "metadata": {"raw": json.dumps({"error": {"metadata": {"raw": json.dumps(INNER)}, "message": ""}})},
        },
    ],
)
def test_the_refusal_of_the_models_server_is_read_through_the_gateways(error: Any) -> None:
    assert refusal_of(400, error, "x") == ParameterRefusal(
        400, "Provider returned error: response_format is not supported", "response_format", "unsupported_parameter"
    )


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (json.dumps({"error": INNER}), INNER["message"]),
        ({"message": json.dumps({"error": INNER})}, INNER["message"]),
        ({"message": INNER}, INNER["message"]),
        ({"detail": "Not allowed"}, "Not allowed"),
        ({"error": "busy"}, "busy"),
        ({"message": "same", "metadata": {"raw": "same"}}, "same"),
        ({"message": "outer", "metadata": {"raw": ""}}, "outer"),
        ({"message": "outer", "metadata": "odd"}, "outer"),
        ("in words", "in words"),
        ({}, "the text"),
        (None, "the text"),
        (["a"], "the text"),
    ],
)
def test_what_is_said_is_found_wherever_it_stands(error: Any, message: str) -> None:
    assert refusal_of(400, error, "the text").message == message


def test_the_kind_is_that_of_the_inner_error_where_the_outer_one_says_nothing() -> None:
    raw = json.dumps({"error": {"message": "x", "code": "insufficient_quota"}})
    error = {"message": "Provider returned error", "code": 429, "metadata": {"raw": raw}}
    found = of_answer(429, error, text="", headers={}, api_key="")
    assert (found.kind, found.everyone) == (ErrorKind.PERMISSION, True)


@given(
    st.recursive(
        st.none() | st.text() | st.integers() | st.text().map(lambda text: json.dumps({"error": {"message": text}})),
        lambda inner: (
            st.lists(inner)
            | st.dictionaries(st.sampled_from(["message", "metadata", "raw", "error", "code", "detail"]), inner)
        ),
    )
)
def test_whatever_an_error_holds_its_message_is_one_short_line(error: Any) -> None:
    message = of_answer(400, error, text="no message", headers={}, api_key="").message
    assert len(message) <= MAX_MESSAGE
    assert "\n" not in message


@pytest.mark.parametrize(
    "key", ["eyJhbGciOiJSUzI1NiJ9.eyJleHAiOjF9.c2lnbmF0dXJl", "ya29.a0AfH6SMBx-7_w.z", "sk-abc-def"]
)
def test_whatever_looks_like_a_key_is_in_no_message(key: str) -> None:
    assert cleaned(f"the token {key} has expired", "") == "the token [key] has expired"


def test_a_redirection_is_told_on_one_line_however_long_its_target_is() -> None:
    error = of_redirect(307, "http://" + "x" * 10_000 + "\x1b")
    assert len(error.message) <= MAX_MESSAGE
    assert "correct TAMIS_LLM_BASE_URL" in error.message
