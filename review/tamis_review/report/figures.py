"""The figures of a report as plain data."""

from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any

from pydantic import Field, computed_field

from tamis_producer.ledger import HumanCounts
from tamis_producer.ledger.snapshots import SnapshotChange
from tamis_schemas import (
    BatchStatus,
    Cost,
    Counts,
    Criterion,
    Inclusion,
    PossiblyUnbilled,
    Proportion,
    RetryBias,
    SearchCriteria,
    Source,
    StopAnswer,
    dollars,
    wilson,
)
from tamis_schemas.batches.flow import Flow, Tally
from tamis_schemas.operations import operation_name
from tamis_schemas.values.frozen import Frozen

from ..decisions.audits import AuditVerdict
from ..decisions.copy_pairs import CopyPair
from ..decisions.human_agreement import AgreementFigures
from ..quality.panel_figures import PanelFigures
from .identifiers import Identifier, identifiers


class SubjectKind(StrEnum):
    """The kind of a report's subject."""

    BATCH = "batch"
    REVIEW = "review"


class ReportWay(StrEnum):
    """The state of a report (the full text of a record) after people's decisions so far."""

    AWAITED = "awaited"  # no decision on its retrieval yet
    LOST = "not retrieved"
    UNASSESSED = "not assessed yet"  # retrieved
    EXCLUDED = "excluded"
    UNCERTAIN = "uncertain"
    CONFLICT = "reviewers disagree"
    INCLUDED = "included"


class ReportRow(Frozen):
    """One report (the full text of a record) that people sought."""

    index: int  # place of its record in the review's first batch, from 0
    item_id: str
    title: str | None
    way: ReportWay
    reason: str | None = None  # reason for its exclusion or missing retrieval
    study: str | None = None  # the study's name, if a reviewer noted it
    doi: str | None = None
    pmid: str | None = None
    full_text: str | None = None  # address or file name of the full text, if a reviewer noted it
    reviewers: tuple[str, ...] = ()  # people with current decisions on it

    @property
    def identifiers(self) -> list[Identifier]:
        """Return the identifiers of the report's record and of its full text, each as text with an address or None."""
        return identifiers(self.item_id, self.doi or "", self.pmid or "", self.full_text)


BINS = 10  # bins of the confidence histogram, each 0.1 wide; 1.0 belongs to the last


class ConfidenceSeries(Frozen):
    """The number of records with one outcome in each tenth of confidence."""

    outcome: str  # passed, excluded, uncertain
    bins: tuple[int, ...] = Field(min_length=BINS, max_length=BINS)


_NOT_SUMMED = {"possibly_unbilled_cost", "call_seconds_median", "call_seconds_p95"}


class BatchCosts(PossiblyUnbilled):
    """The calls, tokens and money spent on answers, failed calls included."""

    calls: int = 0  # calls that reached the endpoint
    prompt_tokens: int = 0  # prompt tokens, as the endpoint counted them
    completion_tokens: int = 0
    cost: Cost = Decimal(0)  # dollars, for known prices only
    unpriced: int = 0  # records whose calls have no known price; not in `cost`
    cached: int = 0  # records answered from the ledger, without a call
    cut: int = 0  # records too long to be sent whole
    call_seconds_median: float | None = None
    call_seconds_p95: float | None = None

    @property
    def paid(self) -> str:
        """Return the cost as text: `$0.0123`, `at least $0.0123` if some prices are unknown, or `not known`."""
        if not self.unpriced:
            return dollars(self.cost)
        return f"at least {dollars(self.cost)}" if self.cost else "not known"

    def __add__(self, other: "BatchCosts") -> "BatchCosts":
        summed = BatchCosts.model_fields.keys() - _NOT_SUMMED
        sums = {name: getattr(self, name) + getattr(other, name) for name in summed}
        # The possible extra cost of the sum is unknown if either extra cost is unknown.
        costs = [side.possibly_unbilled_cost for side in (self, other) if side.possibly_unbilled]
        extra = None if None in costs or not costs else sum((cost for cost in costs if cost is not None), Decimal(0))
        return BatchCosts(**sums, possibly_unbilled_cost=extra)


class Quotes(Frozen):
    """How many of the model's quotes were found in the records."""

    given: int = 0  # quotes in the model's answers
    found: int = 0
    altered: int = 0  # nearly the record's text: some tokens differ
    flagged: int = 0  # records with at least one altered or missing quote

    @property
    def missing(self) -> int:
        return self.given - self.found - self.altered


class Prompts(Frozen):
    """Hashes of the prompts that were sent.

    A record's prompt hash covers model, messages, response schema and sampling parameters. `sha256` is the hash of a
    text with these hashes in hexadecimal form, one per line, in the order of the records.
    """

    records: int = 0  # records with a prompt hash
    sha256: str | None = None
    parameters_sha256: str  # hash of the parameters as canonical JSON: sorted names, no spaces, UTF-8


class AuditFigures(Frozen):
    """One audit of exclusions, and its bound on the includes among all exclusions."""

    id: str
    created_at: datetime
    verdict: AuditVerdict
    reviewers: tuple[str, ...]


class HumanFigures(HumanCounts):
    """The human decisions about a batch's records."""

    reviewers: tuple[str, ...] = ()
    agreement: AgreementFigures | None = None
    audits: tuple[AuditFigures, ...] = ()


class FindingFigures(Frozen):
    """The curve of finding: the number of includes found, by the number of records read."""

    records: int  # records of the batch, without copies
    read: int  # records with a human decision that counts
    finds: tuple[int, ...] = ()  # for each included record: its place in the order read, from 1
    ordered: bool = True  # False: the order read is not known, and `finds` are places in the order of the ledger

    @computed_field  # type: ignore[prop-decorator]  # mypy knows no decorated property
    @property
    def found(self) -> int:
        """Return the number of records that people included."""
        return len(self.finds)


class OrderFigures(Frozen):
    """The stored reading order of a batch, and the number of records that people read in a reading order."""

    read: int  # records with a current decision that a person made when reading in an order
    seed: int
    explore: float  # share of places for randomly drawn records
    decided: int  # records that people had decided when the order was made
    text_weight: float  # weight of the text model, 0 to 1; the rest is the model's score


class ReadingFigures(Frozen):
    """The reading order of people, the includes that they found, and their stop rule."""

    finding: FindingFigures
    order: OrderFigures | None = None  # None: no person read in a stored order
    stop: StopAnswer | None = None  # without its price list; None: no sample was drawn


class BatchFigures(Frozen):
    """The figures of one batch, all from one snapshot of the ledger."""

    id: str
    label: str | None
    operation: str
    parameters: dict[str, Any]
    model_asked: str | None  # None: the workers' default
    models: dict[str, int]  # records by the model that the endpoint named in its answer
    snapshots: SnapshotChange | None = None  # None: the models did not change, in the batch or since its pilot
    state: BatchStatus
    round: int
    use_cache: bool
    sources: tuple[Source, ...] = ()  # empty: a program submitted the items
    created_at: datetime
    started_at: datetime | None  # first dispatch of the round
    finished_at: datetime | None
    first_result_at: datetime | None
    last_result_at: datetime | None
    counts: Counts
    outcomes: dict[str, int]  # the software's outcomes, before human decisions
    final_outcomes: dict[str, int] = Field(default_factory=dict)
    pass_rate: Proportion  # the model's pass rate of decided records; 0 of 0 if the operation does not decide
    final_pass_rate: Proportion = wilson(0, 0)  # the final rate, with human decisions
    humans: HumanFigures = HumanFigures()
    panel: PanelFigures | None = None  # for a batch with several models
    reading: ReadingFigures | None = None  # None: people read neither in a Tamis order nor by its stop rule
    exclusions: tuple[Tally, ...]  # exclusions before any model call, by rule
    copies: tuple[CopyPair, ...] = ()  # pairs that may be copies, with people's verdicts; empty in later stages
    reasons: tuple[Tally, ...]  # records that the model excluded, by reason
    errors: tuple[Tally, ...]  # failed records by kind
    confidence: tuple[ConfidenceSeries, ...]
    quotes: Quotes
    spending: BatchCosts
    prompts: Prompts
    failures: RetryBias = RetryBias()  # failures by round; empty without failures in a single round

    @computed_field  # type: ignore[prop-decorator]  # mypy knows no decorated property
    @property
    def source(self) -> Source | None:
        """Return the batch's only source, for the report as JSON. Return None if there are no sources or several."""
        return self.sources[0] if len(self.sources) == 1 else None

    @property
    def criteria(self) -> SearchCriteria | None:
        """Return the criteria, or None if the operation is not `inclusion`."""
        if self.operation != operation_name(Inclusion):
            return None
        return SearchCriteria.model_validate(self.parameters["criteria"])

    @property
    def labelled(self) -> list[Criterion]:
        """Return the criteria with the labels (I1, E1) that verdicts use."""
        return [] if self.criteria is None else self.criteria.labelled()


class Figures(Frozen):
    """All figures of a report."""

    kind: SubjectKind
    id: str
    label: str | None
    read_at: datetime  # time of the snapshot, by the database's clock
    software: str  # name and version of the software that wrote the report
    flow: Flow
    planned: tuple[str, ...]  # operations of all stages, including stages not begun
    ended: bool  # no further stage will begin
    report_reviewers: tuple[str, ...] = ()  # people who decided on retrieval and full texts
    reports: tuple[ReportRow, ...] = ()  # reports sought; empty before any decision on them
    batches: tuple[BatchFigures, ...]

    @computed_field  # type: ignore[prop-decorator]  # mypy knows no decorated property
    @property
    def finished(self) -> bool:
        """Return True if the numbers change only when a person retries a batch or makes another decision."""
        return self.ended and self.flow.complete and all(batch.state is BatchStatus.COMPLETED for batch in self.batches)

    def staged(self, words: str = "Stage {}") -> Iterator[tuple[str, BatchFigures]]:
        """Yield each batch with a heading: `words` with the stage's number, or "" if there is only one batch."""
        for number, batch in enumerate(self.batches, 1):
            yield words.format(number) if len(self.batches) > 1 else "", batch

    @property
    def screening(self) -> BatchFigures:
        """Return the figures of the first stage, which has all identified records."""
        return self.batches[0]

    @property
    def called(self) -> int:
        """Return how many records were removed from the screening because a person judged them to be copies."""
        return sum(pair.verdict == "copies" for pair in self.screening.copies)

    @property
    def spending(self) -> BatchCosts:
        return sum((batch.spending for batch in self.batches), BatchCosts())
