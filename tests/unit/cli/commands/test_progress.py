"""The live progress of a batch and of a review, without a ledger."""

import io
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from tamis_cli.commands.progress import watch, watch_review
from tamis_producer.ledger.batch_view import BatchView
from tamis_schemas import BatchStatus, Counts, Pause, PauseKind

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


def view(done: int, of: int = 100, **changes: Any) -> BatchView:
    fields: dict[str, Any] = {
        "id": "one",
        "label": None,
        "operation": "filter",
        "model": None,
        "round": 1,
        "state": BatchStatus.COMPLETED if done == of else BatchStatus.RUNNING,
        "counts": Counts(n_items=of, decided=done, pending=of - done),
        "prompt_tokens": 0,
        "completion_tokens": 0,
        "created_at": NOW,
        "started_at": NOW,
        "finished_at": None,
        "elapsed_seconds": None,
        "live_workers": 1,
    }
    return BatchView(**fields | changes)


@dataclass
class Watched:
    """What is asked of a batch or a review."""

    views: list[Any]

    def watch(self) -> Iterator[Any]:
        return iter(self.views)

    def status(self) -> Any:
        return self.views[0]


def lines(show: Any, views: list[Any], **options: Any) -> list[str]:
    console = Console(file=io.StringIO(), width=100, **options)
    assert show(Watched(views), console) is views[-1]
    assert isinstance(console.file, io.StringIO)
    return [line.strip() for line in console.file.getvalue().splitlines()]


def test_without_a_terminal_every_tenth_of_a_batch_is_a_line_and_its_end() -> None:
    printed = lines(watch, [view(done) for done in (0, 4, 9, 10, 15, 21, 99, 100)])
    # 10 is a tenth more than 0, 21 than 10, 99 than 21; 100 is the end
    assert [line.split()[0] for line in printed] == ["0/100", "10/100", "21/100", "99/100", "100/100"]


def test_a_pause_and_a_wait_are_a_line_each_and_said_once() -> None:
    paused = Pause(kind=PauseKind.REQUESTED, reason="somebody")
    looks = [view(0), view(1, pause=paused), view(2, pause=paused), view(3), view(4, live_workers=0)]
    printed = lines(watch, [*looks, view(5, live_workers=0)])
    assert [line.split()[0] for line in printed] == ["0/100", "1/100", "4/100"]
    assert "paused" in printed[1]
    assert "no worker" in printed[2]


@pytest.mark.parametrize("terminal", [False, True])
def test_each_stage_of_a_review_goes_by_its_name(terminal: bool) -> None:
    first, second = view(10, of=10), view(1, of=2, id="two", operation="score")

    def review(*stages: BatchView) -> Any:
        return SimpleNamespace(planned=("filter", "score"), stages=stages)

    printed = lines(watch_review, [review(view(0, of=10)), review(first, second)], force_terminal=terminal)
    if not terminal:
        assert [line.removesuffix(" completed") for line in printed] == ["filter: 0/10", "filter: 10/10", "score: 1/2"]
    else:
        shown = "\n".join(printed)
        assert all(part in shown for part in ("filter", "10/10", "score", "1/2"))
