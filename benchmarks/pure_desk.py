"""A desk without a ledger. It uses the pure functions for reading order and stop rules, in this process."""

from collections.abc import Mapping, Sequence

from tamis_review.order.exploration import EXPLORE, with_exploration
from tamis_review.order.ranking import rank
from tamis_review.order.text_features import TextFeatures
from tamis_review.quality.certificate import Reading, certify
from tamis_review.quality.estimates import missed_recall_p
from tamis_review.quality.sampling_frame import SamplingFrame
from tamis_schemas import StopVerdict
from tamis_schemas.records.random_order import sample

from .reading_team import CONFIDENCE, RECALL, Look


class PureDesk:
    """The desk of one review. `seed` is for random choices in the order, and for the sample."""

    def __init__(
        self, features: TextFeatures, scores: Sequence[float | None], *, seed: int, explore: float = EXPLORE
    ) -> None:
        self._features, self._scores, self._seed, self._explore = features, scores, seed, explore
        self._decided: dict[int, bool] = {}  # in the order of reading; of a page, the includes last, as in the ledger
        self._frame: list[int] = []  # the rows that were unread when it was opened, in a random order
        self._found_before = 0  # includes found by then
        self._drawn = 0

    def next_rows(self, n: int) -> list[int]:
        waiting = self._waiting()
        if len(waiting) >= n:
            return waiting[:n]
        best = [record.row for record in rank(self._features, self._scores, self._decided, seed=self._seed).records]
        rows, _ = with_exploration(best, read=len(self._decided), share=self._explore, seed=self._seed)
        return list(dict.fromkeys([*waiting, *rows]))[:n]

    def decide(self, decisions: Mapping[int, bool]) -> None:
        self._decided.update(sorted(decisions.items(), key=lambda decision: decision[1]))

    def look(self) -> Look:
        certificate = certify(self._reading(), RECALL, CONFIDENCE)
        return Look(
            promised=certificate.verdict is StopVerdict.ENOUGH,
            refused=certificate.verdict is StopVerdict.IMPOSSIBLE,
            p=missed_recall_p(tuple(self._decided.values()), len(self._features), RECALL),
            sampled=len(self._waiting()),
        )

    def draw(self) -> None:
        if not self._frame:
            unread = [row for row in range(len(self._features)) if row not in self._decided]
            self._frame = sample(unread, len(unread), seed=self._seed)
            self._found_before = sum(self._decided.values())
        more = certify(self._reading(), RECALL, CONFIDENCE).needed[0]
        self._drawn = max(self._drawn, min(len(self._frame), len(self._read_of_frame()) + more))

    def _waiting(self) -> list[int]:
        return [row for row in self._frame[: self._drawn] if row not in self._decided]

    def _read_of_frame(self) -> list[bool]:
        said = [self._decided.get(row) for row in self._frame]
        return [one for one in said[: said.index(None) if None in said else len(said)] if one is not None]

    def _reading(self) -> Reading:
        found, unread = sum(self._decided.values()), len(self._features) - len(self._decided)
        if not self._frame:
            return Reading(found, unread)
        return Reading(
            found, unread, (SamplingFrame(len(self._frame), tuple(self._read_of_frame()), self._found_before),)
        )
