"""What the terminal says."""

import io
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from rich.console import Console

from tamis_cli.commands.progress import detail
from tamis_cli.commands.render import percent, print_summary, print_view, print_views
from tamis_cli.commands.status import print_workers
from tamis_producer import BatchView
from tamis_producer.ledger.worker_view import NotWorking, WorkerReport, WorkerState, WorkerView
from tamis_schemas import (
    BatchStatus,
    ConfidenceDistribution,
    Counts,
    ErrorKind,
    MetricFigures,
    Pause,
    PauseKind,
    Summary,
    wilson,
)

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


def view(**changes: Any) -> BatchView:
    fields: dict[str, Any] = {
        "id": "01234567-89ab-cdef-0123-456789abcdef",
        "label": "records [2024].csv",
        "operation": "filter",
        "model": None,
        "state": BatchStatus.RUNNING,
        "round": 1,
        "counts": Counts(n_items=100, decided=40, failed=10, running=20, pending=30),
        "prompt_tokens": 1000,
        "completion_tokens": 234,
        "created_at": NOW,
        "started_at": NOW,
        "finished_at": None,
        "elapsed_seconds": 25.0,
        "live_workers": 2,
        "pace": 2.0,
    }
    return BatchView(**fields | changes)


def printed(show: Any, *values: Any) -> str:
    console = Console(width=140, file=io.StringIO())
    show(*values, console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_progress_says_failed_rate_time_to_go_and_tokens() -> None:
    # 2 a second of late; 50 to go take 25 s
    assert detail(view()) == "[red]10 failed[/] · 2.0/s · 0:00:25 to go · 1,234 tokens"


def test_progress_says_so_where_nobody_works() -> None:
    waiting = view(live_workers=0, elapsed_seconds=None, prompt_tokens=0, completion_tokens=0, counts=Counts(n_items=1))
    assert "no worker is running" in detail(waiting)


def test_progress_and_status_say_what_the_workers_hold_back_for() -> None:
    full = NotWorking(state=WorkerState.HOLDING_BACK, reason="Postgres is full [full]", seconds=60)
    held = view(not_working=(full, full))
    assert "2 workers take no items: Postgres is full \\[full] since" in detail(held)  # no markup of its own
    assert "2 workers take no items: Postgres is full [full] since" in printed(print_view, held)
    assert "take no items" not in printed(print_view, view(not_working=(full,), state=BatchStatus.COMPLETED))


def test_workers_are_listed_with_what_they_do() -> None:
    report = WorkerReport(
        id="w", host="vm", pid=7, version="1.0", concurrency=32, in_flight=3, running_for=3600, idle_for=90,
        state=WorkerState.HOLDING_BACK, reason="Redis is full", state_for=60,
    )  # fmt: skip
    idle = report.model_copy(update={"state": WorkerState.WORKING, "in_flight": 0, "idle_for": None, "pid": 8})
    shown = printed(lambda console: print_workers([WorkerView.of(one, NOW) for one in (report, idle)], console, NOW))
    first, second = shown.splitlines()[1:]
    assert first.split()[:1] == ["7@vm"]
    assert "3/32" in first
    assert "1 min ago" in first  # 90 s
    assert "holding back: Redis is full since" in first
    assert "none yet" in second
    assert "ready: nothing to do" in second


def test_a_finished_batch_has_nothing_to_go() -> None:
    done = view(state=BatchStatus.COMPLETED, counts=Counts(n_items=50, decided=50))
    assert detail(done) == "completed · 1,234 tokens"


def test_a_batch_that_ended_with_failures_is_not_called_completed() -> None:
    done = view(state=BatchStatus.COMPLETED, counts=Counts(n_items=50, decided=1, failed=49))
    assert detail(done) == "[yellow]ended, 49 failed[/] · 1,234 tokens"
    for show, value in ((print_view, done), (print_views, [done])):
        assert "ended, 49 failed" in printed(show, value)
        assert "completed" not in printed(show, value)


def test_a_paused_batch_has_neither_a_rate_nor_a_time_to_go() -> None:
    paused = view(state=BatchStatus.PAUSED, pause=Pause(kind=PauseKind.REQUESTED))
    assert (paused.rate, paused.eta_seconds) == (None, None)
    assert "to go" not in detail(paused)
    assert "/s" not in detail(paused)


def test_a_batch_whose_pace_nobody_knows_says_no_time_to_go() -> None:
    begun = view(pace=None)
    assert (begun.rate, begun.eta_seconds) == (None, None)


@pytest.mark.parametrize(
    ("share", "said"),
    [
        (wilson(10, 100), "10 of 100 (10.0%, 95% interval 5.5% to 17.4%)"),
        (wilson(0, 0), "none decided"),
    ],
)
def test_a_rate_stands_with_its_interval(share: Any, said: str) -> None:
    assert percent(share) == said


def test_a_label_with_brackets_is_shown_as_it_is() -> None:
    assert "records [2024].csv" in printed(print_view, view())
    assert "records [2024].csv" in printed(print_views, [view()])


def summary(**changes: Any) -> Summary:
    fields: dict[str, Any] = {
        "batch_id": "b",
        "round": 1,
        "operation": "filter",
        "counts": Counts(n_items=12, decided=10, failed=2),
        "values": {"true": 4, "false": 6},
        "pass_rate": wilson(4, 10),
        "errors": {ErrorKind.TIMEOUT: 2},
        "confidence": ConfidenceDistribution(bands={"explicit": 7, "strong": 3, "weak": 0}, median=0.93),
        "prompt_tokens": 1000,
        "completion_tokens": 200,
        "calls": 14,
        "call_seconds_median": 0.5,
        "call_seconds_p95": 0.9,
        "wall_seconds": 3.2,
        "models": {"m [x]": 12},
        "finished_at": NOW,
    }
    return Summary(**fields | changes)


def test_a_screening_says_how_many_go_to_a_human_and_why_records_were_kept_out() -> None:
    values = {"include": 3, "exclude": 3, "uncertain": 4}
    text = printed(
        print_summary, summary(operation="inclusion", values=values, exclusions={"duplicate": 5, "animal": 1})
    )
    assert "6: uncertain or failed, never excluded" in text  # 4 uncertain + 2 failed
    assert "duplicate 5, animal 1" in text


def test_a_summary_shows_what_failed_and_why() -> None:
    text = printed(print_summary, summary())
    for said in ("12: decided 10, failed 2", "true 4, false 6", "4 of 10 (40.0%", "timeout 2", "median 0.93", "m [x]"):
        assert said in text
    assert "14 calls, 1,000 + 200 tokens, 3.2 s" in text


def test_metrics_are_told_in_the_order_of_their_specification_with_what_has_no_value() -> None:
    figures = {
        "agreement_pattern": MetricFigures(n=0, without={"fewer than two sources": 24}),
        "semantic_validation": MetricFigures(n=24, categories={"pass": 20, "skipped": 4}),
        "context_relevance": MetricFigures(n=1, mean=0.6651, minimum=0.6651),
        "context_precision": MetricFigures(n=20, mean=0.9, minimum=0.25, without={"no extraction cites a chunk": 4}),
    }
    said = printed(print_summary, summary(evaluations=figures, recall_escalations=wilson(3, 12)))
    lines = [line.strip() for line in said.splitlines()]
    start = next(n for n, line in enumerate(lines) if line.startswith("metrics"))
    assert [" ".join(line.split()) for line in lines[start : start + 5]] == [
        "metrics context_relevance: mean 0.67, least 0.67 (1 value)",
        "context_precision: mean 0.90, least 0.25 (20 values, 4 without)",
        "semantic_validation: pass 20, skipped 4 (24 values)",
        "agreement_pattern: none of 24 has a value",
        "recall a model was asked about the recall of 3 of 12 items",
    ]


def test_what_a_bill_may_lack_is_said_where_there_is_any() -> None:
    missing = {"unanswered": 2, "lost_claims": 16, "possibly_unbilled_cost": Decimal("0.0468")}
    words = "up to about $0.0468 (2 calls with an unknown end, 16 claims whose worker died)"
    for show, figures in ((print_summary, summary), (print_view, view)):
        lines = [" ".join(line.split()) for line in printed(show, figures(**missing)).splitlines()]
        assert f"possibly unbilled {words}" in lines
        assert "unbilled" not in printed(show, figures())


def test_a_summary_of_an_earlier_release_lacks_nothing() -> None:
    stored = summary().model_dump(mode="json")
    for name in ("unanswered", "lost_claims", "possibly_unbilled_cost", "possibly_unbilled", "tiers"):
        del stored[name]
    del stored["cache_write_tokens"]
    assert Summary.model_validate(stored) == summary()


@pytest.mark.parametrize(
    ("tiers", "said"),
    [({}, None), ({"default": 12}, None), ({"flex": 12}, "tier flex 12"), ({"default": 2, "flex": 10}, "default 2")],
)
def test_a_tier_other_than_the_standard_one_is_told(tiers: dict[str, int], said: str | None) -> None:
    text = " ".join(printed(print_summary, summary(tiers=tiers)).split())
    assert ("tier" in text) is (said is not None)
    assert said is None or said in text
