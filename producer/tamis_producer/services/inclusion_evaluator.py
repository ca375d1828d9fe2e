"""The inclusion evaluator (tier 2): a model judges papers by a review's criteria."""

import logging
from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from typing import Any, Self, TypeVar

from tamis_schemas import (
    NO_STEERING,
    BatchPaused,
    Inclusion,
    InclusionDecision,
    InclusionStatus,
    InvalidParameters,
    ItemResult,
    Pause,
    SearchCriteria,
    Steering,
)
from tamis_schemas.operations.inclusion import UnclearPolicy, UnverifiedPolicy

from ..client.batch import Batch
from ..client.client import Client
from ..submission.item_conversion import to_item_at
from .evaluation_service import ServiceClient

STARTED = "inclusion_started"
FINISHED = "inclusion_finished"  # STARTED and FINISHED are the kinds of callback messages
RELEVANCE = "relevance_score"  # field in which a model sees the score
NOT_EVALUATED = "Not evaluated: a person decides."

Policy = TypeVar("Policy", bound=StrEnum)
Paper = TypeVar("Paper")  # a PaperData, a dict, or another object that `to_item` accepts

log = logging.getLogger(__name__)


class InclusionEvaluator:
    """An evaluator of papers. Each call is a batch, which workers evaluate with their endpoint and retries.

    >>> with InclusionEvaluator(criteria) as evaluator:
    ...     decision = evaluator.evaluate(paper, relevance_score=4.0)
    >>> decision.status, decision.confidence, decision.rationale

    A paper that could not be evaluated is `uncertain`, with confidence 0 and the reason in `error`. Such a paper is
    never excluded, so a person decides. One call for many papers costs far less than many calls for one paper.

    Every method raises:
        InvalidParameters: a paper is invalid, or the scores do not fit the papers. Nothing is written.
        ConfigurationError: no broker or ledger is configured.
        LedgerUnavailable: the ledger does not answer.
        WaitTimeout: the batch took longer than `timeout`; it continues.
    """

    def __init__(
        self,
        criteria: SearchCriteria,
        model: str | None = None,
        *,
        unclear: UnclearPolicy | str = UnclearPolicy.INCLUDE,
        unverified: UnverifiedPolicy | str = UnverifiedPolicy.REFER,
        client: Client | None = None,
        timeout: float | None = None,
        callback: Callable[[str, str], None] | None = None,
        steering: Steering = NO_STEERING,
    ) -> None:
        """Create the evaluator.

        Args:
            criteria: the inclusion and exclusion criteria of the review.
            model: the model to ask. None: the model of the settings, else the workers' model.
            unclear: how a criterion with an unclear verdict affects the decision.
            unverified: the decision for an exclusion without a quote from the record.
            client: submits the batches; it stays open. None: a new client, connected on first use.
            timeout: longest wait for one batch in seconds, even if no worker runs. None: no limit.
            callback: receives `inclusion_started` and `inclusion_finished`, each with a message, for every batch.
            steering: reasoning effort, service tier, and further fields and headers of the requests, for every batch.

        Raises `InvalidParameters` if `unclear` or `unverified` is not a policy.
        """
        self._operation = Inclusion(
            criteria=criteria,
            unclear=_policy(UnclearPolicy, "unclear", unclear),
            unverified=_policy(UnverifiedPolicy, "unverified", unverified),
        )
        self._model = model
        self._steering = steering
        self._client = ServiceClient(client)
        self._timeout = timeout
        self._callback = callback

    def evaluate(self, paper: object, relevance_score: float | None = None) -> InclusionDecision:
        """Return the decision on one paper. `relevance_score`: shown to the model as a field of the paper."""
        ((_, decision),) = self.evaluate_batch([paper], [relevance_score])
        return decision

    def evaluate_batch(
        self,
        papers: Iterable[Paper],
        relevance_scores: Sequence[float | None] | None = None,
        progress_callback: Callable[[int, int], None] | None = None,
    ) -> list[tuple[Paper, InclusionDecision]]:
        """Return every paper with its decision, in the order of `papers`; without papers, write no batch.

        Args:
            papers: `PaperData`, dicts, or other objects that `to_item` accepts.
            relevance_scores: a score or None for each paper, shown to the model.
            progress_callback: receives (finished, total) when more papers are finished, and at the end.
        """
        listed = list(papers)
        items = _items(listed, relevance_scores)
        if not items:
            return []
        batch = self._client.connected.submit(
            self._operation, items, model=self._model, label="inclusion", steering=self._steering
        )
        self._tell(STARTED, f"{len(items)} papers in batch {batch.id}")
        pause = self._wait(batch, progress_callback)
        decisions = [_decision(row, pause) for row in batch.results()]
        self._tell(FINISHED, _counted(decisions))
        return list(zip(listed, decisions, strict=True))

    def close(self) -> None:
        """Close the evaluator's own client; a later call connects again. A client from the caller stays open."""
        self._client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _wait(self, batch: Batch, progress_callback: Callable[[int, int], None] | None) -> Pause | None:
        """Wait until the batch has ended or is paused. Return the pause, or None if the batch has ended."""
        reported, warned = 0, False
        try:
            for view in batch.watch(self._timeout):
                if not (view.live_workers or view.state.terminal or warned):
                    warned = True
                    log.warning("batch %s waits: no worker is running; start one with `tamis worker`", batch.id)
                if progress_callback is not None and view.counts.finished > reported:
                    reported = view.counts.finished
                    progress_callback(reported, view.counts.n_items)
        except BatchPaused as paused:
            log.warning("%s", paused)
            return paused.pause
        return None

    def _tell(self, kind: str, message: str) -> None:
        if self._callback is not None:
            self._callback(kind, message)


def _policy(kind: type[Policy], name: str, value: str) -> Policy:
    try:
        return kind(value)
    except ValueError as error:
        raise InvalidParameters(f"{name}: {value!r} is none of {', '.join(kind)}") from error


def _items(papers: Sequence[object], scores: Sequence[float | None] | None) -> list[dict[str, Any]]:
    if scores is not None and len(scores) != len(papers):
        raise InvalidParameters(f"relevance_scores: {len(scores)} for {len(papers)} papers")
    all_scores = [None] * len(papers) if scores is None else scores
    shown = ({} if score is None else {RELEVANCE: score} for score in all_scores)
    return [to_item_at(index, paper) | score for index, (paper, score) in enumerate(zip(papers, shown, strict=True))]


def _decision(row: ItemResult, pause: Pause | None) -> InclusionDecision:
    if row.decision is not None:
        return row.decision
    if row.result is not None and row.result.error is not None:
        error = f"{row.error_kind}: {row.result.error}"
    elif pause is not None:
        error = pause.reason
    else:
        error = f"the item is {row.status}"  # its batch was cancelled
    return InclusionDecision(status=InclusionStatus.UNCERTAIN, confidence=0.0, rationale=NOT_EVALUATED, error=error)


def _counted(decisions: Sequence[InclusionDecision]) -> str:
    failed = sum(decision.error is not None for decision in decisions)
    counts = {status: sum(decision.status is status for decision in decisions) for status in InclusionStatus}
    counts[InclusionStatus.UNCERTAIN] -= failed
    listed = ", ".join(f"{status.value} {count}" for status, count in counts.items())
    return f"{listed}, not evaluated {failed}"
