"""A tag changes with every decision and override, and with what is asked for; with nothing else."""

from datetime import UTC, datetime
from decimal import Decimal

import pytest

from tamis_producer.gateway.etag import Humans, matches, tag_of
from tamis_producer.ledger.batch_view import BatchView, Budget
from tamis_schemas import BatchStatus, Counts, Pause, PauseKind

AT = datetime(2026, 3, 1, tzinfo=UTC)
VIEW = BatchView(
    id="3f2a91c0",
    label="spring",
    operation="filter",
    model=None,
    state=BatchStatus.RUNNING,
    round=1,
    counts=Counts(n_items=9, passed=1, pending=7, running=1),
    prompt_tokens=1,
    completion_tokens=1,
    created_at=AT,
    started_at=AT,
    finished_at=None,
    elapsed_seconds=1.0,
    live_workers=1,
)
BEFORE = tag_of(VIEW, (0, 0, 0), "/results?")


@pytest.mark.parametrize(
    "change",
    [
        {"counts": Counts(n_items=9, passed=2, pending=7)},  # a decision
        {"counts": Counts(n_items=9, passed=1, failed=1, pending=7)},
        {"round": 2},
        {"state": BatchStatus.COMPLETED},
        {"finished_at": AT},
        {"pause": Pause(kind=PauseKind.REQUESTED)},
        {"cost": Decimal("0.01")},
        {"budget": Budget(max_cost=Decimal(2), spent=Decimal(0), reserved=Decimal(0))},
    ],
)
def test_what_happens_to_a_batch_changes_its_tag(change: dict[str, object]) -> None:
    assert tag_of(VIEW.model_copy(update=change), (0, 0, 0), "/results?") != BEFORE


@pytest.mark.parametrize("humans", [(1, 0, 0), (0, 1, 0), (0, 0, 1)])
def test_what_people_decide_changes_it(humans: Humans) -> None:
    assert tag_of(VIEW, humans, "/results?") != BEFORE


def test_another_form_has_another_one() -> None:
    assert tag_of(VIEW, (0, 0, 0), "/results?form=csv") != BEFORE


@pytest.mark.parametrize("change", [{"live_workers": 0}, {"elapsed_seconds": 2.0}])
def test_what_passes_does_not_change_it(change: dict[str, object]) -> None:
    assert tag_of(VIEW.model_copy(update=change), (0, 0, 0), "/results?") == BEFORE
    assert BEFORE.startswith('W/"')


@pytest.mark.parametrize(
    ("tags", "known"),
    [('W/"a"', True), ('"a"', True), ('"b", W/"a"', True), ("*", True), ('W/"b"', False), ("", False), ("a", False)],
)
def test_tags_are_compared_weakly(tags: str, known: bool) -> None:
    assert matches(tags, 'W/"a"') is known
