"""The stop rule: whether people may stop reading, and the samples of unread records behind the answer."""

from datetime import datetime
from enum import StrEnum
from itertools import takewhile

from pydantic import computed_field

from ..values.frozen import Frozen


class SampledRecord(Frozen):
    """One record of a stop rule's sample, with people's decision on it."""

    index: int  # place in the batch, from 0
    item_id: str
    included: bool | None = None  # people's decision; None: not yet, or they disagree


class StopSample(Frozen):
    """A random sample of unread records, with people's decisions so far.

    Only the records before the first undecided record count, in the order of the draw.
    """

    id: str
    batch_id: str
    number: int  # number among the samples of its batch, from 1: each uses a part of the allowed error, 1 - confidence
    seed: int
    recall: float  # recall of the last draw
    confidence: float
    population: int  # unread records in the population
    created_at: datetime
    closed_at: datetime | None = None  # None: it is open, and can be extended
    changed: int = 0  # records whose decision people changed after the sample was drawn: the sample may be stale
    records: tuple[SampledRecord, ...]  # in the order of the draw

    @computed_field  # type: ignore[prop-decorator]  # mypy knows no decorated property
    @property
    def drawn(self) -> int:
        """The number of records drawn."""
        return len(self.records)

    @computed_field  # type: ignore[prop-decorator]  # mypy knows no decorated property
    @property
    def read(self) -> int:
        """The number of records before the first unread record, in the order of the draw."""
        return sum(1 for _ in takewhile(lambda record: record.included is not None, self.records))

    @computed_field  # type: ignore[prop-decorator]  # mypy knows no decorated property
    @property
    def found(self) -> int:
        """The number of records that people included among the first `read` records."""
        return sum(record.included is True for record in self.records[: self.read])

    @property
    def waiting(self) -> tuple[SampledRecord, ...]:
        """The drawn records without a decision that counts, in order. People must still decide about them."""
        return tuple(record for record in self.records if record.included is None)


class StopVerdict(StrEnum):
    """The answer to the question whether people may stop reading."""

    NOT_YET = "not yet"
    ENOUGH = "enough"
    IMPOSSIBLE = "cannot be promised"


class StopPrice(Frozen):
    """The price of a promised recall: the number of further records of the sample that people must read."""

    recall: float
    confidence: float
    none_found: int | None  # records to read, if none is an include; None: this recall cannot be confirmed
    as_expected: int | None  # records to read, with as many includes as expected; None: no expectation
    finds: int | None  # includes expected among the `as_expected` records


class StopEstimate(Frozen):
    """The result of a sequential hypergeometric test of the recall: an estimate, not a promise."""

    p: float | None  # estimated probability that the recall is not reached; None: the reading order is not known
    stops: bool  # True: p is below 1 - confidence
    together: int = 0  # decisions recorded at one moment, so that no reading order is known; 0: it is known


class ExpectedIncludes(Frozen):
    """The expected number of includes among the next records: an estimate, not a promise."""

    records: int  # records to read next
    expected: float | None  # includes among them; None: unknown
    low: float
    high: float
    basis: str  # basis of the expectation


class DoubleReading(Frozen):
    """The numbers of records on which two people decided independently."""

    records: int
    includes: int  # records included in the end, and by at least one reader; if `selected`, by the first reader
    missed_by_one: int  # of `includes`: excluded by one reader; if `selected`, by the second reader
    whole: bool  # True: two people read every record that was read
    counts: bool  # True: the confirmed recall also counts records that people overlook
    selected: bool = False  # True: the first reader's decisions decided which records the second one read


class StopFigure(Frozen):
    """A figure in words, with its meaning for the review."""

    name: str
    value: str
    meaning: str  # one sentence


class StopAnswer(Frozen):
    """The stop rule's answer: whether people may stop reading and promise a recall, and what evidence is missing."""

    batch_id: str
    verdict: StopVerdict
    headline: str  # the verdict in one line
    recall: float  # requested
    confidence: float
    records: int  # in the batch, without copies
    read: int  # records with a decision by people that counts
    found: int  # records that people included
    unread: int
    conflicts: int  # unread: people disagree, and no decision settles it
    uncertain: int  # unread: people left it open
    excluded_by_rules: int  # unread, excluded by the initial filter
    excluded_by_model: int  # unread, excluded by a model
    promised: float  # recall that is confirmed now, with this confidence
    missed: int  # at most so many unread includes
    includes: int | None  # at most so many includes, with overlooked ones; None: any number
    needed: tuple[int, ...] = ()  # records of the sample still to read, with none, one, two, three further includes
    miss_rate: float | None = None  # largest share of includes that people overlook; None: not measured
    double_reading: DoubleReading | None = None  # None: no record was read by two people
    estimate: StopEstimate
    expected: ExpectedIncludes
    prices: tuple[StopPrice, ...] = ()  # for each recall with each confidence
    samples: tuple[StopSample, ...] = ()  # in the order of their beginning
    updates: str | None = None  # batch whose search this batch updates; its includes do not count here
    figures: tuple[StopFigure, ...] = ()  # these figures in words
    methods: str | None = None  # text for a methods section; None: not enough yet

    @property
    def sample(self) -> StopSample | None:
        """The open sample; None if there is none."""
        return next((sample for sample in self.samples if sample.closed_at is None), None)
