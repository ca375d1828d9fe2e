"""Whom to tell: what a callback may be."""

import pytest
from pydantic import ValidationError

from tamis_schemas import BatchEvent, Callback


@pytest.mark.parametrize(
    "url",
    [
        "https://hooks.example/tamis",
        "http://127.0.0.1:8080/x?y=1",
        "https://[2606:4700::1]:8443/",
        "https://xn--bcher-kva.example/%C3%A4",
    ],
)
def test_a_callback_names_a_url_and_wants_every_event_unless_it_says_otherwise(url: str) -> None:
    callback = Callback(url=url)
    assert callback.url == url
    assert callback.events == tuple(BatchEvent)
    assert callback.failed_share == 0.1


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("hooks.example/tamis", "https://"),
        ("ftp://hooks.example/", "https://"),
        ("file:///etc/passwd", "https://"),
        ("https:///path", "a host"),
        ("https://hooks.example:port/", "cannot be read"),
        ("https://user:password@hooks.example/", "no password"),
        ("https://token@hooks.example/", "no password"),
        ("https://hooks.example/a b", "no spaces"),
        ("https://hooks.example/\r\nX: y", "ASCII"),
        ("https://bücher.example/", "ASCII"),
        ("https://hooks.example/" + "x" * 2_000, "2000"),
    ],
)
def test_what_cannot_be_called_is_refused_without_repeating_a_password(url: str, why: str) -> None:
    with pytest.raises(ValidationError, match=why) as refused:
        Callback(url=url)
    assert "password@" not in refused.value.errors(include_input=False)[0]["msg"]


@pytest.mark.parametrize(
    "wrong", [{"events": []}, {"events": ["batch.begun"]}, {"failed_share": 1.1}, {"failed_share": -0.1}]
)
def test_events_and_share_are_those_that_there_are(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Callback.model_validate({"url": "https://hooks.example/", **wrong})
