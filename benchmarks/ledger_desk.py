"""A desk that uses the ledger: a batch whose records are read in the order of `batch.next`."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from tamis_review import decide, draw_stop_sample, may_stop, next_records
from tamis_schemas import InclusionStatus, StopVerdict

from .reading_team import CONFIDENCE, RECALL, Look

if TYPE_CHECKING:
    from tamis_producer import Batch

READER = "labels"


class LedgerDesk:
    """The desk of a finished batch of inclusions. `seed` is for random choices in the order, and for the sample."""

    def __init__(self, batch: "Batch[str]", *, seed: int) -> None:
        self._batch, self._seed = batch, seed
        self._open = False

    def next_rows(self, n: int) -> list[int]:
        return [one.index for one in next_records(self._batch, n, seed=self._seed, fresh=True).records]

    def decide(self, decisions: Mapping[int, bool]) -> None:
        from tamis_review.decisions.record_overrides import HumanDecision

        said = {True: InclusionStatus.INCLUDE.value, False: InclusionStatus.EXCLUDE.value}
        decide(self._batch, [HumanDecision(row, said[included], READER) for row, included in decisions.items()])

    def look(self) -> Look:
        answer = may_stop(self._batch, RECALL, CONFIDENCE)
        return Look(
            promised=answer.verdict is StopVerdict.ENOUGH,
            refused=answer.verdict is StopVerdict.IMPOSSIBLE,
            p=1.0 if answer.estimate.p is None else answer.estimate.p,
            sampled=0 if answer.sample is None else len(answer.sample.waiting),
        )

    def draw(self) -> None:
        draw_stop_sample(self._batch, RECALL, CONFIDENCE, seed=None if self._open else self._seed)
        self._open = True
