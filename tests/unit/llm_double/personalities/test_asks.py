"""What an endpoint asks of a request."""

from typing import Any

import pytest

from llm_double.asked import Asked
from llm_double.personalities.asks import MOVED, AsksForField, AsksForHeader, Redirects
from stage.asking import asked


@pytest.mark.parametrize(
    ("headers", "code"),
    [({}, "missing_header"), ({"x-tenant": "b"}, "invalid_header"), ({"x-tenant": "a"}, None)],
)
def test_a_header_may_be_asked_for_and_the_refusal_names_it(headers: dict[str, str], code: str | None) -> None:
    problem = AsksForHeader("X-Tenant", "a").refusal(asked("x", headers=headers))
    assert (problem and problem.code) == code
    assert problem is None or (problem.status == 400 and "X-Tenant" in problem.message)


def test_a_header_may_say_anything_where_nothing_is_asked_of_it() -> None:
    assert AsksForHeader("x-tenant").refusal(asked("x", headers={"x-tenant": ""})) is None


@pytest.mark.parametrize(
    ("more", "code"),
    [({}, "missing_required_parameter"), ({"user": "b"}, "invalid_value"), ({"user": "a"}, None)],
)
def test_a_field_may_be_asked_for_and_the_refusal_names_it(more: dict[str, Any], code: str | None) -> None:
    problem = AsksForField("user", "a").refusal(asked("x", **more))
    assert (problem and problem.code) == code
    assert problem is None or (problem.status == 400 and problem.param == "user")


def test_a_call_is_sent_elsewhere_once() -> None:
    said = Redirects(status=308).refusal(asked("x"))
    assert said is not None
    assert (said.status, said.headers["location"]) == (308, MOVED)
    assert Redirects().refusal(Asked({}, path=MOVED)) is None
    with pytest.raises(ValueError, match="200"):
        Redirects(status=200)
