"""The parts that evaluate items in a worker process, from its connections up to the evaluator."""

from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import redis.asyncio as redis

from tamis_producer.files.price_file import known_prices
from tamis_producer.transport.dispatch import Dispatcher

from ..config.settings import WorkerSettings
from ..engine.backpressure import Backpressure
from ..engine.batch_interrupts import BatchInterrupts
from ..engine.budget import Budget
from ..engine.cache import Cache
from ..engine.call_policy import CallPolicy
from ..engine.capacity import Capacity
from ..engine.evaluate import Evaluator, Writers
from ..engine.group_commit import GroupCommit
from ..engine.question_runner import QuestionRunner
from ..ledger import pauses
from ..ledger.batches import BatchConfigCache
from ..ledger.claims import Claims
from ..ledger.connection import LedgerEngines
from ..ledger.dialects import LedgerDialects
from ..ledger.held_claims import HeldClaims
from ..ledger.outcomes import record
from ..ledger.spending import Spending
from ..ledger.transcripts import KnownPrompts
from ..limiter.limiter import Limits
from ..limiter.limits import Limiters
from ..llm.api_key import key_source
from ..llm.dialect_store import endpoint_name
from ..llm.llm import Llm
from ..llm.shared_dialects import SharedDialects
from ..telemetry.chat import Server
from ..telemetry.measures import Measures
from .returned_claims import ReturnedClaims

SETTLING = 10.0  # s; longer than a call's end takes to reach the ledger


@dataclass(frozen=True, kw_only=True)
class EvaluationStack:
    """One evaluator and everything under it that others ask or that is to be closed."""

    evaluator: Evaluator
    held: HeldClaims
    interrupts: BatchInterrupts
    configs: BatchConfigCache
    capacity: Capacity
    writers: Writers
    budget: Budget
    cache: Cache
    limiters: Limiters
    llm: Llm
    redis: "redis.Redis"  # the limiter's

    @classmethod
    def of(
        cls,
        settings: WorkerSettings,
        ledger: LedgerEngines,
        dispatcher: Dispatcher,
        *,
        worker_id: str,
        backpressure: Backpressure,
        measures: Measures,
        redact: Callable[[str], str],
        learn_key: Callable[[str], object],
    ) -> Self:
        """Built from the bottom up; connects to nothing yet.

        `dispatcher` publishes what is given back; `redact` takes secrets out of a text, and `learn_key` is told of each
        key before a call is made with it. Raises `ConfigurationError` where a setting is missing or of no use.
        """
        prices = known_prices(settings.prices)
        policy = CallPolicy.of(settings)
        capacity = Capacity(most=settings.concurrency, usual=settings.call_timeout)
        limiter_redis = redis.from_url(settings.limiter, health_check_interval=25, socket_timeout=15)
        limits = Limits(rpm=settings.limit_rpm, tpm=settings.limit_tpm, concurrency=settings.limit_concurrency)
        limiters = Limiters(limiter_redis, settings.endpoint, limits, holder=worker_id, lease=settings.lease)
        llm = _llm(settings, ledger, worker_id, learn_key)
        cache = Cache(ledger.statements, backpressure, days=settings.cache_days, measures=measures)
        budget = Budget(
            Spending(ledger.transactions),
            prices,
            patience=settings.call_timeout + SETTLING,
            flex_patience=settings.longest_call + SETTLING,
            backpressure=backpressure,
            measures=measures,
        )
        interrupts = BatchInterrupts(partial(pauses.pause, ledger.transactions, redact=redact))
        runner = QuestionRunner(
            llm,
            limiters,
            policy.retry,
            interrupts,
            cache,
            budget,
            prices,
            backpressure=backpressure,
            capacity=capacity,
            server=Server.of(settings.endpoint),
            measures=measures,
        )
        held = HeldClaims()
        claims = Claims(ledger.statements, worker=worker_id, max_claims=settings.max_claims, held=held)
        commit = partial(GroupCommit, backpressure=backpressure, measures=measures)
        writers = Writers(
            claims=commit("claims", claims.claim),
            outcomes=commit("results", partial(record, ledger.statements, known=KnownPrompts())),
            returns=commit("returns", ReturnedClaims(ledger.transactions, dispatcher).write),
        )
        configs = BatchConfigCache(ledger.statements, settings.steering)
        evaluator = Evaluator(
            writers,
            configs,
            runner,
            interrupts,
            held,
            default_model=settings.default_model,
            policy=policy,
            redact=redact,
            transcripts=settings.transcripts,
            backpressure=backpressure,
            measures=measures,
        )
        return cls(
            evaluator=evaluator,
            held=held,
            interrupts=interrupts,
            configs=configs,
            capacity=capacity,
            writers=writers,
            budget=budget,
            cache=cache,
            limiters=limiters,
            llm=llm,
            redis=limiter_redis,
        )

    @property
    def commits(self) -> tuple[GroupCommit[Any, Any], ...]:
        """All that speak to the ledger in groups."""
        return (*self.cache.commits, *self.budget.commits, *self.writers.commits)

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[None]:
        """Ready to evaluate. What is opened is closed in the opposite order, also where opening fails half way."""
        async with AsyncExitStack() as opened:
            for close in (self.redis.aclose, self.llm.close, self.limiters.close):  # they connect on first use
                opened.push_async_callback(close)
            await _start(self.cache.commits, opened)
            await _start(self.budget.commits, opened)
            opened.push_async_callback(self.budget.settled)
            await _start(self.writers.commits, opened)
            yield


async def _start(commits: Iterable[GroupCommit[Any, Any]], opened: AsyncExitStack) -> None:
    for commit in commits:
        opened.push_async_callback(commit.close)
        await commit.start()


def _llm(settings: WorkerSettings, ledger: LedgerEngines, worker_id: str, learn_key: Callable[[str], object]) -> Llm:
    keys = key_source(
        settings.llm_api_key.get_secret_value() if settings.llm_api_key else "",
        file=settings.llm_api_key_file,
        command=settings.llm_api_key_command,
        ttl=settings.llm_api_key_ttl,
        learn=learn_key,
    )
    return Llm(
        settings.endpoint,
        keys,
        timeout=settings.call_timeout,
        connections=2 * settings.concurrency,  # beside those that have waited for capacity, as many as usual
        max_answer_bytes=settings.max_answer_bytes,
        dialects=SharedDialects(
            LedgerDialects(ledger.statements, endpoint_name(settings.endpoint)),
            worker=worker_id,
            hopeless_after=settings.unusable_answers,
        ),
        compiles_grammars=settings.bounded_schema,
    )
