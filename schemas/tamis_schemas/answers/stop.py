"""Whether people may stop reading, and the samples of what nobody has read by which it is promised."""

from datetime import datetime
from enum import StrEnum
from itertools import takewhile

from pydantic import computed_field

from ..values.frozen import Frozen


class SampledRecord(Frozen):
    """One record of a sample."""

    index: int  # place in the batch, from 0
    item_id: str
    included: bool | None = None  # what people say; None: nothing yet, or not the same


class StopSample(Frozen):
    """A sampling frame and the records that were drawn from it, with what people decided about these so far.

    What counts is what people decided on its first records without a gap: these are a random sample.
    """

    id: str
    batch_id: str
    number: int  # among the samples of its batch, from 1: each may spend a part of the doubt
    seed: int
    recall: float  # that it was last drawn for
    confidence: float
    population: int  # unread records that it was drawn from
    created_at: datetime
    closed_at: datetime | None = None  # None: it is open, and can be extended
    records: tuple[SampledRecord, ...]  # in the order in which they were drawn

    @computed_field  # type: ignore[prop-decorator]  # mypy knows no decorated property
    @property
    def drawn(self) -> int:
        """The number of records drawn."""
        return len(self.records)

    @computed_field  # type: ignore[prop-decorator]  # mypy knows no decorated property
    @property
    def read(self) -> int:
        """How many of its first records are read, without a gap."""
        return sum(1 for _ in takewhile(lambda one: one.included is not None, self.records))

    @computed_field  # type: ignore[prop-decorator]  # mypy knows no decorated property
    @property
    def found(self) -> int:
        """How many of these people included."""
        return sum(one.included is True for one in self.records[: self.read])

    @property
    def waiting(self) -> tuple[SampledRecord, ...]:
        """The records to read, in their order."""
        return tuple(one for one in self.records if one.included is None)


class StopVerdict(StrEnum):
    """Whether people may stop reading."""

    NOT_YET = "not yet"
    ENOUGH = "enough"
    IMPOSSIBLE = "cannot be promised"


class StopPrice(Frozen):
    """What a promise costs from here, in further records of the sample."""

    recall: float
    confidence: float
    none_found: int | None  # if no further include is among them; None: it cannot be promised
    as_expected: int | None  # with as many further includes as are expected; None: nothing is known of them
    finds: int | None  # so many are expected among them


class StopEstimate(Frozen):
    """The sequential hypergeometric test: an estimator, no promise."""

    p: float  # that the recall is not reached, as it reckons
    stops: bool  # it is below 1 - confidence


class ExpectedIncludes(Frozen):
    """What reading on would bring: an expectation, no promise."""

    records: int  # that are read next
    expected: float | None  # includes among them; None: nothing is known
    low: float
    high: float
    basis: str  # what it was made from


class DoubleReading(Frozen):
    """Records that two people decided about, each on their own."""

    records: int
    includes: int  # that at least one of the two included, and that are included in the end
    missed_by_one: int  # of these, excluded by the other
    whole: bool  # everything that was read, was read by two
    counts: bool  # the promise takes in what people overlook


class StopFigure(Frozen):
    """A figure in words, with what it says for the review."""

    name: str
    value: str
    meaning: str  # one sentence


class StopAnswer(Frozen):
    """Whether people may stop reading with a promise, and what is missing to it."""

    batch_id: str
    verdict: StopVerdict
    headline: str  # the verdict in one line
    recall: float  # asked for
    confidence: float
    records: int  # of the batch, copies of others left out
    read: int  # of these, records on which people's decision counts
    found: int  # of these, included
    unread: int
    conflicts: int  # of the unread: people decided differently, and nobody has settled it
    uncertain: int  # of the unread: people left it open
    excluded_by_rules: int  # of the unread: by the initial filter
    excluded_by_model: int  # of the unread
    promised: float  # the recall that holds now, with this confidence
    missed: int  # at most so many of the unread are includes
    includes: int | None  # at most so many there are, what people overlook counted in; None: any number
    needed: tuple[int, ...] = ()  # records of the sample still to read, with none, one, two, three further includes
    miss_rate: float | None = None  # includes that people overlook, at most; None: not measured
    double_reading: DoubleReading | None = None  # None: no record was read by two people
    estimate: StopEstimate
    expected: ExpectedIncludes
    prices: tuple[StopPrice, ...] = ()  # of each recall with each confidence
    samples: tuple[StopSample, ...] = ()  # in the order in which they were opened
    figures: tuple[StopFigure, ...] = ()  # the same in words
    methods: str | None = None  # what a methods section says of it; None: it is not enough yet

    @property
    def sample(self) -> StopSample | None:
        """The sample that is open; None where none is."""
        return next((one for one in self.samples if one.closed_at is None), None)
