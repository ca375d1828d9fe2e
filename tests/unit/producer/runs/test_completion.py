"""What follows when a batch completes: applications are found by entry points, and a missing one is told."""

from collections.abc import Iterator
from importlib.metadata import EntryPoint
from types import SimpleNamespace
from typing import Any
from uuid import UUID, uuid4

import pytest

from tamis_producer.runs import completion
from tamis_producer.runs.completion import GROUP, follow
from tamis_review.plans.stages import advance

ENGINE: Any = SimpleNamespace()
FOLLOWING = uuid4()


def begins(engine: object, batch_id: UUID) -> UUID:
    assert engine is ENGINE
    return FOLLOWING


def begins_nothing(engine: object, batch_id: UUID) -> None:
    assert engine is ENGINE


@pytest.fixture
def anew() -> Iterator[None]:
    """Entry points are looked up once a process: before the test and after it, anew."""
    completion._registered.cache_clear()
    yield
    completion._registered.cache_clear()


def registered(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    points = [EntryPoint(name, f"{__name__}:{name}", GROUP) for name in names]
    monkeypatch.setattr(EntryPoint, "load", lambda self: globals()[self.name])
    monkeypatch.setattr(completion, "entry_points", lambda group: points if group == GROUP else [])


@pytest.mark.usefixtures("anew")
def test_every_application_is_asked_and_the_batches_that_follow_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    registered(monkeypatch, "begins_nothing", "begins", "begins")
    assert follow(ENGINE, uuid4()) == [FOLLOWING, FOLLOWING]


@pytest.mark.usefixtures("anew")
def test_without_an_application_nothing_follows_and_the_log_says_so_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    registered(monkeypatch)
    assert follow(ENGINE, uuid4()) == follow(ENGINE, uuid4()) == []
    assert caplog.messages == [f"no hook is registered in '{GROUP}': this process begins no further stage of a review"]


@pytest.mark.usefixtures("anew")
def test_an_installation_begins_the_next_stage_of_a_review() -> None:
    assert completion._registered() == (advance,)
