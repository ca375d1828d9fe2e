"""The cache of valid answers, so that no question is paid for twice. Errors are never cached."""

import hashlib
import json
import logging
from collections.abc import Sequence
from functools import partial

from sqlalchemy.ext.asyncio import AsyncEngine

from ..ledger.answers import KeptAnswer, find_answers, keep_answers
from ..ledger.connection import refusal_words
from ..llm.chat import ChatAnswer, ChatRequest
from ..llm.prompt_cache import PARAMETERS
from ..llm.token_probability import PARAMETERS as OF_TOKENS
from ..telemetry.measures import NULL_MEASURES, Measures
from .backpressure import Backpressure
from .capacity import SERVICE_TIER
from .group_commit import GATHER, GroupCommit

# Options that change the cost of an answer or its additions, not the answer. A request with token probabilities also
# finds earlier answers without them.
SAME_ANSWER = frozenset({SERVICE_TIER, *OF_TOKENS}) | PARAMETERS

log = logging.getLogger(__name__)


class Cache:
    """The cache of answers in the ledger. The key of an answer is the `fingerprint` of its question.

    One SQL statement reads or writes several answers.
    """

    def __init__(
        self,
        engine: AsyncEngine,
        backpressure: Backpressure | None = None,
        *,
        days: int | None = None,
        measures: Measures = NULL_MEASURES,
    ) -> None:
        """Prepare the cache. Answers older than `days` are not used. If `days` is None, all answers are used."""
        self._engine = engine
        self._days = days
        commit = partial(GroupCommit, backpressure=backpressure or Backpressure(), measures=measures)
        # Look-ups come in the groups of the claims.
        self._finds: GroupCommit[str, KeptAnswer | None] = commit("cache look-ups", self._find, gather_busy=GATHER)
        self._keeps: GroupCommit[tuple[str, KeptAnswer], None] = commit("cached answers", self._keep)
        self.commits = (self._finds, self._keeps)  # must be started before use

    async def find(self, key: str) -> KeptAnswer | None:
        """Return the cached answer to the question with this key. Return None if there is no such answer."""
        return await self._finds.submit(key)

    async def keep(self, key: str, answer: ChatAnswer, probability: float | None = None) -> None:
        """Cache an answer in place of any older answer with this key. Wait for the commit. A failure is only logged.

        `probability`: the probability of inclusion, computed from the answer's tokens.
        """
        usage = answer.usage
        kept = KeptAnswer(answer.content, answer.model, usage.prompt_tokens, usage.completion_tokens, probability)
        try:
            await self._keeps.submit((key, kept))
        except Exception as error:  # the answer is still good; only a repetition of the question is paid again
            log.error("an answer was not cached: %s", refusal_words(error))  # noqa: TRY400 - the error quotes the answer

    async def _find(self, keys: Sequence[str]) -> Sequence[KeptAnswer | None]:
        answers = await find_answers(self._engine, keys, self._days)
        return [answers.get(key) for key in keys]

    async def _keep(self, keeps: Sequence[tuple[str, KeptAnswer]]) -> Sequence[None]:
        await keep_answers(self._engine, dict(keeps))
        return [None for _ in keeps]


def fingerprint(request: ChatRequest, sample: int = 0) -> str:
    """Return the key of a question in the cache: the sha256 of everything that determines its answer.

    `sample` distinguishes repetitions of a question that need separate answers.
    """
    fields: dict[str, object] = {
        "max_tokens": request.max_tokens,
        "messages": [{"content": message.content, "role": message.role} for message in request.messages],
        "model": request.model,
        "schema": request.schema,
        "schema_name": request.schema_name,
        "temperature": request.temperature,
    }
    if options := {name: value for name, value in request.options.items() if name not in SAME_ANSWER}:
        fields["options"] = options
    if request.headers:  # behind a gateway, a header may choose another model
        fields["headers"] = {name.lower(): value for name, value in request.headers.items()}
    canonical = json.dumps([fields, sample], sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(canonical.encode("utf-8", "replace")).hexdigest()
