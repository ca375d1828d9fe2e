"""A team that reads a simulated review, looks at the certificate as often as it likes, and stops when it may.

It reads the highest scores first, and the other records of a topic once an include of it is found. Where no include
came for long (`DRY`, `PATIENCE`) it samples: the open frame or a new one, whichever costs less if nothing more is
found. After a find it reads on in order. It stops as soon as the certificate says enough, which can only be after a
find and where the sample reaches the number of records that the certificate named: at these places it looks. (Where
nearly everything is read the last few records need no sample; it reads them all the same.)
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
    """Where a team stopped."""

    promised: bool  # else refused: everything was read and nothing may be promised
    recall: float  # of the true includes
    read: float  # the share of the records


@dataclass
class _OpenFrame:
    """The records that were unread, in a random order."""

    order: list[int]
    found_outside: int
    place: int = 0  # up to here its records are decided


class Team:
    """One review as its team reads it."""

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
        """Read until the certificate says enough, or everything is read."""
        while self._unread and records_needed(self._reading(), RECALL, CONFIDENCE):
            if self._read_in_order():
                self._sample()
        verdict = certify(self._reading(), RECALL, CONFIDENCE).verdict
        return self._stop(promised=verdict is StopVerdict.ENOUGH)

    def read_with_estimator(self) -> Stop:
        """Read in order until the estimator says enough, or everything is read."""
        while self._unread:
            self._decide(self._best())
            if len(self.decisions) % LOOK == 0:
                p = missed_recall_p(self.decisions, len(self._review.true), RECALL)
                if p < 1 - CONFIDENCE:
                    break
        return self._stop(promised=True)

    def _read_in_order(self) -> bool:
        """Read until `DRY` records came without an include: then it is True; or until the certificate says enough."""
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
        """Read a sample until it holds an include, or the certificate says enough."""
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
        """The unread record that comes next in the order."""
        while True:
            place = self._next.popleft() if self._next else self._order.popleft()
            if self._said[place] is None:
                return place

    def _decide(self, place: int) -> bool:
        """Read a record; whether it is an include to the readers."""
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
