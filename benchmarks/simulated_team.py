"""A team that reads a simulated review, checks the certificate whenever it can change, and stops when it may.

The team reads the highest scores first. After an include it reads the other records of the include's topic. If no
include comes for long (`DRY`, `PATIENCE`), it reads a random sample of the unread records: it continues the open sample
or begins a new one, whichever needs fewer records if they contain no include. After an include in the sample, it
returns to the order. The team checks after an include, and when the sample has the records that the certificate needs.
Only then can the certificate confirm the recall. (If nearly everything is read, the last few records need no sample,
but the team reads them too.)
"""

import random
from collections import deque
from dataclasses import dataclass

from tamis_review.quality.certificate import DoubleRead, Reading, certify, records_needed
from tamis_review.quality.estimates import missed_recall_p
from tamis_review.quality.sampling_frame import SamplingFrame
from tamis_schemas import StopVerdict

from .simulated_reviews import Review

RECALL, CONFIDENCE = 0.95, 0.95
DRY = 50  # records without an include before the team samples, at least
PATIENCE = 20  # times the unread records to each include found: as many, where that is more
LOOK = 250  # records between two looks at the estimator


@dataclass(frozen=True)
class Stop:
    """The point where a team stopped."""

    promised: bool  # False: everything was read, and the certificate confirms nothing
    recall: float  # of the true includes
    read: float  # share of the records that were read


@dataclass
class _OpenFrame:
    """A sampling frame: the records that were unread at its beginning, in a random order."""

    order: list[int]
    found_outside: int  # includes found before the frame
    place: int = 0  # number of its records, from the first, that are decided


class Team:
    """A team that reads one review."""

    def __init__(self, review: Review, draw: random.Random) -> None:
        self._review = review
        self._draw = draw
        self._order = deque(sorted(range(len(review.true)), key=lambda place: -review.scores[place]))
        self._next: deque[int] = deque()  # of topics of which an include was found
        self._members: dict[int, list[int]] = {}
        for place, topic in enumerate(review.topics):
            if topic >= 0:
                self._members.setdefault(topic, []).append(place)
        self._said: list[bool | None] = [None] * len(review.true)  # of a record: is it an include; None: unread
        self._unread = len(review.true)
        self._found = self._found_twice = self._missed_by_one = 0
        self._frames: list[_OpenFrame] = []
        self.decisions: list[bool] = []  # in the order of reading

    def read_with_certificate(self) -> Stop:
        """Read until the certificate confirms the recall, or everything is read."""
        while self._unread and records_needed(self._reading(), RECALL, CONFIDENCE):
            if self._read_in_order():
                self._sample()
        verdict = certify(self._reading(), RECALL, CONFIDENCE).verdict
        return self._stop(promised=verdict is StopVerdict.ENOUGH)

    def read_with_estimator(self) -> Stop:
        """Read in order until the estimator confirms the recall, or everything is read."""
        while self._unread:
            self._decide(self._best())
            if len(self.decisions) % LOOK == 0:
                p = missed_recall_p(self.decisions, len(self._review.true), RECALL)
                if p < 1 - CONFIDENCE:
                    break
        return self._stop(promised=True)

    def _read_in_order(self) -> bool:
        """Read in order. Return True after many records without an include, or False if the team may stop."""
        dry = 0
        while self._unread:
            if self._decide(self._best()):
                dry = 0
                if self._frames and not records_needed(self._reading(), RECALL, CONFIDENCE):
                    return False
            elif (dry := dry + 1) >= max(DRY, PATIENCE * self._unread / max(1, self._found)):
                return True
        return False

    def _sample(self) -> None:
        """Read a sample until it contains an include, or the certificate confirms the recall."""
        reading = self._reading()
        new = records_needed(reading.with_new_frame(), RECALL, CONFIDENCE)
        if not self._frames or new < records_needed(reading, RECALL, CONFIDENCE):
            rest = [place for place, said in enumerate(self._said) if said is None]
            self._draw.shuffle(rest)
            self._frames.append(_OpenFrame(rest, self._found))
        frame = self._frames[-1]
        end = frame.place + records_needed(self._reading(), RECALL, CONFIDENCE)
        while frame.place < end:
            place = frame.order[frame.place]
            frame.place += 1
            if self._said[place] is None and self._decide(place):
                return
            if self._said[place]:  # found before, beside the sample
                end = frame.place + records_needed(self._reading(), RECALL, CONFIDENCE)

    def _best(self) -> int:
        """Return the next unread record in the order."""
        while True:
            place = self._next.popleft() if self._next else self._order.popleft()
            if self._said[place] is None:
                return place

    def _decide(self, place: int) -> bool:
        """Read a record, and return whether its readers include it."""
        review = self._review
        twice = len(self.decisions) < review.read_twice
        first, second = review.first[place], review.second[place]
        include = first or (twice and second)
        self._said[place] = include
        self._unread -= 1
        self.decisions.append(include)
        if include:
            self._found += 1
            self._found_twice += twice
            self._missed_by_one += twice and first != second
            self._next.extend(self._members.pop(review.topics[place], ()))
        return include

    def _reading(self) -> Reading:
        return Reading(
            found=self._found,
            unread=self._unread,
            frames=tuple(
                SamplingFrame(
                    len(frame.order),
                    tuple(bool(self._said[place]) for place in frame.order[: frame.place]),
                    frame.found_outside,
                )
                for frame in self._frames
            ),
            double_read=DoubleRead(self._found_twice, self._missed_by_one) if self._review.read_twice else None,
            readers=2 if self._review.read_twice == len(self._said) else 1,
        )

    def _stop(self, *, promised: bool) -> Stop:
        true = self._review.true
        includes = sum(true)
        return Stop(promised, self._found / includes if includes else 1.0, len(self.decisions) / len(true))
