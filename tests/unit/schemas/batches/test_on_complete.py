"""Which signatures may be sent when a batch is complete, and what the ledger keeps of them."""

from typing import Any

import pytest
from celery import Celery, chain

from tamis_schemas import InvalidParameters
from tamis_schemas.batches.on_complete import OnComplete

NOT_KEPT = "on_complete: the option 'countdown' is not kept; only the queue is"
TASK = {"task": "theirs.finished", "queue": "theirs"}
APP = Celery(set_as_current=False)


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
        (signature(), "on_complete: it names no queue: signature.set(queue=...)"),
        (signature(countdown=9).set(queue="theirs"), NOT_KEPT),
        (chain(signature(), signature()), "on_complete: a chain, not one task; a task of yours may begin it"),
        ({"queue": "theirs"}, "on_complete.task: Field required"),
        (TASK | {"queue": "two words"}, r"on_complete.queue: String should match pattern '^[^/\s]+$'"),
        (TASK | {"url": "https://hooks.example"}, "on_complete.url: Extra inputs are not permitted"),
    ],
)  # fmt: skip
def test_what_cannot_be_sent_is_refused_with_the_reason(wrong: Any, said: str) -> None:
    with pytest.raises(InvalidParameters) as raised:
        OnComplete.of(wrong)
    assert str(raised.value) == said
