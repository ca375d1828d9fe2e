"""Whom to tell: what a callback may be."""

from typing import Any

import pytest
from celery import Celery, chain
from pydantic import ValidationError

from tamis_schemas import BatchEvent, Callback, InvalidParameters
from tamis_schemas.batches.callback import OnComplete

NOT_KEPT = "on_complete: the option 'countdown' is not supported; only the queue is"
TASK = {"task": "theirs.finished", "queue": "theirs"}
APP = Celery(set_as_current=False)


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
        ("https://hooks.example:port/", "not a URL"),
        ("https://user:password@hooks.example/", "not contain user or password"),
        ("https://token@hooks.example/", "not contain user or password"),
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


def signature(*args: Any, **options: Any) -> Any:
    return APP.signature("theirs.finished", args=args, kwargs={"run": 7}, **options)


def test_a_signature_and_the_dict_that_a_message_makes_of_it_are_the_same_task() -> None:
    expected = OnComplete(task="theirs.finished", queue="theirs", args=["a"], kwargs={"run": 7})
    sent = signature("a").set(queue="theirs")
    assert OnComplete.of(sent) == OnComplete.of(dict(sent)) == expected
    assert OnComplete.of(TASK) == OnComplete(task="theirs.finished", queue="theirs")
    assert OnComplete.of(signature(immutable=True).set(queue="theirs")).immutable


def test_the_ledger_keeps_it_as_a_callback_that_hears_of_the_end_alone() -> None:
    kept = OnComplete.of(TASK).kept()
    assert (kept["url"], kept["events"]) == ("celery://theirs/theirs.finished", ["batch.completed"])
    assert OnComplete.model_validate(kept["task"]) == OnComplete.of(TASK)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("theirs.finished", "on_complete: a str, not a signature"),
        (signature(), "on_complete: the queue is missing: signature.set(queue=...)"),
        (signature(countdown=9).set(queue="theirs"), NOT_KEPT),
        (chain(signature(), signature()), "on_complete: a chain, not a single task; your task may start the chain"),
        ({"queue": "theirs"}, "on_complete.task: Field required"),
        (TASK | {"queue": "two words"}, r"on_complete.queue: String should match pattern '^[^/\s]+$'"),
        (TASK | {"url": "https://hooks.example"}, "on_complete.url: Extra inputs are not permitted"),
    ],
)  # fmt: skip
def test_what_cannot_be_sent_is_refused_with_the_reason(wrong: Any, said: str) -> None:
    with pytest.raises(InvalidParameters) as raised:
        OnComplete.of(wrong)
    assert str(raised.value) == said
