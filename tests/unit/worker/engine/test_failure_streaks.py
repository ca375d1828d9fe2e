"""A batch whose items all fail is paused before its money is spent."""

from collections.abc import Sequence
from uuid import UUID, uuid4

import pytest

from tamis_schemas import ErrorKind, EvaluationResult, LedgerUnavailable, PauseKind
from tamis_worker.engine.failure_streaks import ADVICE, FailureStreaks
from tamis_worker.operations import Decided, Failure

BATCH = uuid4()
DECIDED = Decided(EvaluationResult(value=True))
CUT_OFF = Failure(ErrorKind.TRUNCATED, "the answer was cut off after 1024 tokens")
EMPTY_ITEM = Failure(ErrorKind.NO_CONTENT, "the item has no field")


class Results:
    """The results of one batch, in the ledger of all workers."""

    def __init__(self) -> None:
        self.kinds: list[ErrorKind | None] = []
        self.asked = 0
        self.away = False

    async def latest(self, batch_id: UUID, limit: int) -> Sequence[ErrorKind | None]:
        self.asked += 1
        if self.away:
            raise LedgerUnavailable("Postgres does not answer")
        return [kind for kind in reversed(self.kinds) if kind is not ErrorKind.NO_CONTENT][:limit]

    def record(self, ended: Decided | Failure) -> None:
        self.kinds.append(ended.kind if isinstance(ended, Failure) else None)


async def ended(streaks: FailureStreaks, results: Results, *ends: Decided | Failure) -> list[int]:
    """Record these ends; the places after which the batch is paused, from 1."""
    pauses = []
    for place, end in enumerate(ends, 1):
        results.record(end)
        if await streaks.after(BATCH, end) is not None:
            pauses.append(place)
    return pauses


@pytest.mark.parametrize(
    ("ends", "paused_after"),
    [
        ([CUT_OFF] * 20, [20]),
        ([CUT_OFF] * 45, [20, 25, 30, 35, 40, 45]),  # resumed after each pause: five items show that nothing is better
        ([CUT_OFF] * 19, []),
        ([*[CUT_OFF] * 19, DECIDED, *[CUT_OFF] * 19], []),
        ([DECIDED, *[CUT_OFF] * 20], [21]),
        ([EMPTY_ITEM] * 100, []),  # no model was asked
        ([*[CUT_OFF] * 19, EMPTY_ITEM, CUT_OFF], [21]),
    ],
)
async def test_a_batch_is_paused_when_twenty_items_in_a_row_failed(
    ends: list[Decided | Failure], paused_after: list[int]
) -> None:
    results = Results()
    assert await ended(FailureStreaks(results.latest, 20), results, *ends) == paused_after


async def test_the_failures_of_all_workers_count_and_the_success_of_any() -> None:
    results = Results()
    mine, theirs = FailureStreaks(results.latest, 20), FailureStreaks(results.latest, 20)
    assert await ended(mine, results, *[CUT_OFF] * 10) == []
    assert await ended(theirs, results, *[CUT_OFF] * 10) == [10]
    assert await ended(theirs, results, DECIDED) == []
    assert await ended(mine, results, *[CUT_OFF] * 18) == []


async def test_the_pause_names_the_setting_that_helps_and_the_last_error() -> None:
    results = Results()
    streaks = FailureStreaks(results.latest, 3)
    await ended(streaks, results, CUT_OFF, Failure(ErrorKind.EMPTY, "no content"))
    results.record(CUT_OFF)
    pause = await streaks.after(BATCH, CUT_OFF)
    assert pause is not None
    assert pause.kind is PauseKind.FAILURES
    assert pause.message == (
        "the latest 3 items failed, 2 of them with truncated. Raise TAMIS_MAX_OUTPUT_TOKENS, or lower "
        "TAMIS_REASONING_EFFORT. The last error: the answer was cut off after 1024 tokens"
    )
    assert f"tamis resume {BATCH}" in pause.remedy(str(BATCH))


async def test_the_ledger_is_asked_only_during_a_streak_and_may_be_away() -> None:
    results = Results()
    streaks = FailureStreaks(results.latest, 20)
    await ended(streaks, results, *[CUT_OFF, CUT_OFF, CUT_OFF, CUT_OFF, DECIDED] * 10)
    assert results.asked == 0
    results.away = True
    assert await ended(streaks, results, *[CUT_OFF] * 30) == []
    results.away = False
    assert await ended(streaks, results, CUT_OFF) == [1]


def test_every_advice_names_a_setting() -> None:
    assert all("TAMIS_" in advice for advice in ADVICE.values())
