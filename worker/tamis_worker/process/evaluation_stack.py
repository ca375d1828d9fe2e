"""The parts of a worker process that evaluate items, from the connections up to the evaluator."""

import asyncio
import logging
from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from itertools import compress
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncEngine

from tamis_producer.config.redaction import Redaction
from tamis_producer.config.redis_clients import connect_on_loop
from tamis_producer.files.price_file import known_prices
from tamis_producer.transport.dispatch import Dispatcher, ItemAddress
from tamis_schemas import BrokerUnavailable

from ..config.settings import WorkerSettings
from ..engine.backpressure import Backpressure
from ..engine.batch_interrupts import BatchInterrupts
from ..engine.budget import BudgetReservations
from ..engine.cache import Cache
from ..engine.capacity import Capacity
from ..engine.conversation import CallPolicy
from ..engine.evaluate import Evaluator, Return, Writers
from ..engine.failure_streaks import FailureStreaks
from ..engine.group_commit import GroupCommit
from ..engine.question_runner import QuestionRunner
from ..ledger.batches import BatchConfigCache, pause_batch
from ..ledger.cancellations import cancel_items, give_back
from ..ledger.claims import Claims, HeldClaims, cancelled
from ..ledger.connection import LedgerEngines
from ..ledger.dialects import LedgerDialects
from ..ledger.outcomes import KnownPrompts, latest_errors, record
from ..ledger.spending import Spending
from ..limiter.limiter import Limiters, Limits
from ..llm.api_key import key_source
from ..llm.dialect_store import endpoint_name
from ..llm.llm import LlmClient
from ..llm.shared_dialects import SharedDialects
from ..telemetry.chat import EndpointAddress
from ..telemetry.measures import Measures

log = logging.getLogger(__name__)


async def return_claims(engine: AsyncEngine, dispatcher: Dispatcher, returns: Sequence[Return]) -> Sequence[bool]:
    """Release this worker's claims on items in the ledger, and publish the items again.

    Return one boolean for each of `returns`, in order: True if its item is cancelled. If the broker refuses an item,
    the reconciler publishes the item later. Raise `LedgerUnavailable` if Postgres does not answer.
    """
    claims, paid = [returned.claim for returned in returns], [returned.paid for returned in returns]
    transcripts, revoked = [returned.transcript for returned in returns], [returned.cancelled for returned in returns]
    to_publish = await give_back(engine, claims, paid, transcripts, revoked)
    by_batch: dict[tuple[UUID, str], list[ItemAddress]] = defaultdict(list)
    for returned in compress(returns, to_publish):
        address = ItemAddress(returned.claim.key.index, returned.claim.item_id)
        by_batch[returned.claim.key.batch_id, returned.operation].append(address)
    for (batch_id, operation), addresses in by_batch.items():
        try:
            await asyncio.to_thread(dispatcher.republish, batch_id, operation, addresses)
        except BrokerUnavailable as error:
            log.warning("%d released items wait for the reconciler: %s", len(addresses), error)
    gone = await cancelled(engine, [claim.key for claim, sent in zip(claims, to_publish, strict=True) if not sent])
    return [claim.key in gone for claim in claims]


SETTLING = 10.0  # s; longer than the end of a call needs to reach the ledger


class EvaluationStack:
    """The evaluator of items and all parts that it uses. They work only within the `with` block of `opened`."""

    def __init__(
        self,
        settings: WorkerSettings,
        ledger: LedgerEngines,
        dispatcher: Dispatcher,
        *,
        worker_id: str,
        backpressure: Backpressure,
        measures: Measures,
        redact: Redaction,
    ) -> None:
        """Prepare the parts, without a connection. Raise `ConfigurationError` if a setting is missing or invalid.

        `dispatcher` republishes the items that this worker gives back. `redact` removes secrets from texts. Each API
        key becomes one of these secrets before the first call with the key.
        """
        policy = CallPolicy.of(settings)
        prices = known_prices(settings.prices)
        self._redis = connect_on_loop(settings.limiter, health_check_interval=25, socket_timeout=15)
        limits = Limits(rpm=settings.limit_rpm, tpm=settings.limit_tpm, concurrency=settings.limit_concurrency)
        self.limiters = Limiters(self._redis, settings.endpoint, limits, holder=worker_id, lease=settings.lease_seconds)
        self._llm = _llm(settings, ledger, worker_id, redact)
        self.capacity = Capacity(most=settings.concurrency, usual=settings.call_timeout)
        self._cache = Cache(ledger.statements, backpressure, days=settings.cache_days, measures=measures)
        self._budget = BudgetReservations(
            Spending(ledger.transactions),
            prices,
            patience=settings.call_timeout + SETTLING,
            flex_patience=settings.longest_call + SETTLING,
            backpressure=backpressure,
            measures=measures,
        )
        self.interrupts = BatchInterrupts(partial(pause_batch, ledger.transactions, redact=redact))
        self.runner = QuestionRunner(
            self._llm,
            self.limiters,
            policy.retry,
            self.interrupts,
            self._cache,
            self._budget,
            prices,
            backpressure=backpressure,
            capacity=self.capacity,
            server=EndpointAddress.of(settings.endpoint),
            measures=measures,
            connections=2 * settings.concurrency,
        )
        self.held = HeldClaims()
        self.claims = Claims(ledger.statements, worker=worker_id, held=self.held)
        commit = partial(GroupCommit, backpressure=backpressure, measures=measures)
        self._writers = Writers(
            claims=commit("claims", self.claims.claim),
            outcomes=commit("results", partial(record, ledger.statements, known=KnownPrompts())),
            returns=commit("returns", partial(return_claims, ledger.transactions, dispatcher)),
            cancellations=commit("cancellations", partial(cancel_items, ledger.transactions)),
        )
        self.configs = BatchConfigCache(ledger.statements, settings.steering)
        self.evaluator = Evaluator(
            self._writers,
            self.configs,
            self.runner,
            self.interrupts,
            self.held,
            FailureStreaks(partial(latest_errors, ledger.statements), settings.unusable_answers),
            default_model=settings.default_model,
            policy=policy,
            redact=redact,
            transcripts=settings.transcripts,
            backpressure=backpressure,
            measures=measures,
        )

    @property
    def commits(self) -> tuple[GroupCommit[Any, Any], ...]:
        """All parts that combine several writes to the ledger in one transaction."""
        return (*self._cache.commits, *self._budget.commits, *self._writers.commits)

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[None]:
        """Open the parts, and close them in the opposite order, even if opening fails halfway."""
        async with AsyncExitStack() as opened:
            for close in (self._redis.aclose, self._llm.close, self.limiters.close):  # these parts connect on first use
                opened.push_async_callback(close)
            await _start(self._cache.commits, opened)
            await _start(self._budget.commits, opened)
            opened.push_async_callback(self._budget.settled)
            await _start(self._writers.commits, opened)
            yield


async def _start(commits: Iterable[GroupCommit[Any, Any]], opened: AsyncExitStack) -> None:
    for commit in commits:
        opened.push_async_callback(commit.close)
        await commit.start()


def _llm(settings: WorkerSettings, ledger: LedgerEngines, worker_id: str, redact: Redaction) -> LlmClient:
    keys = key_source(
        settings.llm_api_key.get_secret_value() if settings.llm_api_key else "",
        file=settings.llm_api_key_file,
        command=settings.llm_api_key_command,
        ttl=settings.llm_api_key_ttl,
        learn=redact.learn,
    )
    return LlmClient(
        settings.endpoint,
        keys,
        timeout=settings.call_timeout,
        connections=2 * settings.concurrency,  # calls that had to wait for capacity, and as many usual ones
        max_answer_bytes=settings.max_answer_bytes,
        dialects=SharedDialects(
            LedgerDialects(ledger.statements, endpoint_name(settings.endpoint)),
            worker=worker_id,
            hopeless_after=settings.unusable_answers,
        ),
        compiles_grammars=settings.bounded_schema,
    )
