"""Which state may follow which."""

import pytest

from tamis_schemas import BatchStatus, IllegalTransition, ItemStatus
from tamis_schemas.batches.status import BATCH_TRANSITIONS, ITEM_TRANSITIONS, check_batch_transition

LEGAL_FOR_BATCHES = {
    ("pending", "running"),
    ("pending", "paused"),
    ("pending", "cancelled"),
    ("running", "completed"),
    ("running", "paused"),
    ("running", "cancelled"),
    ("paused", "running"),
    ("paused", "completed"),
    ("paused", "cancelled"),
    ("completed", "running"),
    ("cancelled", "running"),
}


@pytest.mark.parametrize("before", BatchStatus)
@pytest.mark.parametrize("after", BatchStatus)
def test_a_batch_goes_only_where_the_table_says(before: BatchStatus, after: BatchStatus) -> None:
    if (before.value, after.value) in LEGAL_FOR_BATCHES:
        check_batch_transition(before, after)
    else:
        with pytest.raises(IllegalTransition, match=f"from '{before.value}' to '{after.value}'"):
            check_batch_transition(before, after)


def test_every_state_has_a_row() -> None:
    assert set(ITEM_TRANSITIONS) == set(ItemStatus)
    assert set(BATCH_TRANSITIONS) == set(BatchStatus)


def test_a_decision_is_never_taken_back() -> None:
    assert ITEM_TRANSITIONS[ItemStatus.DECIDED] == frozenset()


def test_only_pending_and_running_items_are_not_terminal() -> None:
    assert {status for status in ItemStatus if not status.terminal} == {ItemStatus.PENDING, ItemStatus.RUNNING}
