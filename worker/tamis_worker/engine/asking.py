"""Asking one question: permit, call, read, and what follows where there is no usable answer.

Waiting is not failing: a rate-limit wait costs no attempt and does not count towards the item's deadline.
"""

import asyncio
import hashlib
import json
import random
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from typing import TypeVar

from tamis_schemas import ErrorKind, Usage

from ..ledger.batches import BatchTerms
from ..operations import Failure, InvalidAnswer
from ..settings import WorkerSettings
from .answer import Malformed, read_json
from .cache import Cache
from .chat import Answer, CallError, ChatRequest, Message, Reply
from .draining import Draining
from .limits import Limiters
from .llm import Llm
from .retry import RetryPolicy, decide

CHARACTERS_PER_TOKEN = 4  # of English prose, by the usual rule of thumb; settled to the true number afterwards
EXPECTED_ANSWER = 250  # tokens; an answer is a value with a short explanation

T = TypeVar("T")


@dataclass(frozen=True)
class Patience:
    """How much an item may ask for."""

    retry: RetryPolicy
    temperature: float | None
    max_output_tokens: int

    @classmethod
    def of(cls, settings: WorkerSettings) -> "Patience":
        """As the settings say."""
        return cls(
            retry=RetryPolicy(max_calls=settings.max_calls, deadline=settings.item_deadline),
            temperature=settings.temperature,
            max_output_tokens=settings.max_output_tokens,
        )


@dataclass
class Tally:
    """What one item has cost so far, over all of its questions."""

    calls: int = 0  # that reached the endpoint
    cached: int = 0  # questions answered from the cache
    usage: Usage = field(default_factory=Usage)
    model: str | None = None
    latency_ms: int | None = None

    def note(self, reply: Reply) -> None:
        """Add one call."""
        self.calls += 1
        self.usage += reply.usage
        self.latency_ms = reply.latency_ms
        if isinstance(reply, Answer):
            self.model = reply.model


class Asker:
    """Asks questions under the shared limit; one per worker process."""

    def __init__(self, llm: Llm, limiters: Limiters, policy: RetryPolicy, draining: Draining, cache: Cache) -> None:
        self._llm = llm
        self._limiters = limiters
        self._policy = policy
        self._draining = draining
        self._cache = cache

    async def ask(
        self, request: ChatRequest, parse: Callable[[object], T], tally: Tally, terms: BatchTerms, *, key: str | None
    ) -> T | Failure:
        """What `parse` makes of the answer, or why there is none. Raises `Drained` where the worker stops meanwhile.

        `terms` are those of the batch on whose behalf it is asked.
        `key` is the question's in the cache: a valid answer kept under it is given at no cost, and a new one is kept
        before it is used. None: neither.
        """
        if key is not None and (kept := await self._cache.find(key)) is not None:
            try:
                value = parse(read_json(kept.content))
            except (Malformed, InvalidAnswer):
                pass  # kept by a release that read answers otherwise: ask anew
            else:
                tally.cached += 1
                tally.model = kept.model
                return value
        asked = request
        met: list[ErrorKind] = []
        counted, worked = 0, 0.0  # calls against max_calls; seconds, rate-limit waits taken out
        while True:
            reply = await self._call(asked, terms)
            tally.note(reply)
            worked += reply.latency_ms / 1000
            repair: ChatRequest | None = None
            if isinstance(reply, Answer):
                try:
                    value = parse(read_json(reply.content))
                    if key is not None:
                        await self._cache.keep(key, reply)
                    return value
                except (Malformed, InvalidAnswer) as reason:
                    error = _unusable(reason)
                    repair = _repair(request, reply, error)
            else:
                error = reply
            counted += error.kind is not ErrorKind.RATE_LIMITED
            decision = decide(
                error,
                attempt=counted,
                elapsed=worked,
                policy=self._policy,
                jitter=random.random(),  # noqa: S311 - spreads retries, guards nothing
                earlier=met,
            )
            if not decision.again:
                return Failure(decision.kind or error.kind, error.message)
            met.append(error.kind)
            if decision.blocks:
                limiter = await self._limiters.of(request.model)
                await limiter.block(decision.after)
            elif decision.after:
                with self._draining.interruptible():
                    await asyncio.sleep(decision.after)
                worked += decision.after
            asked = repair or asked
            if decision.larger_budget:
                asked = replace(request, max_tokens=2 * request.max_tokens)

    async def _call(self, request: ChatRequest, terms: BatchTerms) -> Reply:
        limiter = await self._limiters.of(request.model)
        characters = sum(len(message.content) for message in request.messages)
        with self._draining.interruptible():
            permit = await limiter.acquire(characters // CHARACTERS_PER_TOKEN + EXPECTED_ANSWER)
        used: int | None = None
        try:
            reply = await self._llm.ask(request)
            used = reply.usage.total_tokens or None
            return reply
        finally:
            await limiter.release(permit, used)


def fingerprint(request: ChatRequest, sample: int = 0) -> str:
    """sha256 of everything that determines an answer, as canonical JSON: the question's key in the cache.

    `sample` tells equal questions apart whose answers shall differ.
    """
    canonical = json.dumps([asdict(request), sample], sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(canonical.encode("utf-8", "replace")).hexdigest()


def _unusable(reason: Malformed | InvalidAnswer) -> CallError:
    kind = ErrorKind.MALFORMED if isinstance(reason, Malformed) else ErrorKind.INVALID
    return CallError(kind, str(reason)[:500])  # its usage was counted with the answer


def _repair(request: ChatRequest, answer: Answer, error: CallError) -> ChatRequest:
    """The same question once more, with the unusable answer and what is wrong with it."""
    return replace(
        request,
        messages=(
            *request.messages,
            Message("assistant", answer.content),
            Message(
                "user",
                f"This answer cannot be used: {error.message}. "
                "Answer again, with one JSON object that follows the schema.",
            ),
        ),
    )
