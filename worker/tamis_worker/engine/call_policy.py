"""The policy of calls: what a worker's settings let an item ask for."""

from dataclasses import dataclass
from typing import Self

from ..config.settings import WorkerSettings
from ..evaluation.recall import RECALL_THRESHOLD
from ..llm.prompt_cache import Breakpoint
from .retry import RetryPolicy


@dataclass(frozen=True)
class CallPolicy:
    """The calls that one item may make."""

    retry: RetryPolicy
    temperature: float | None
    max_output_tokens: int
    max_prompt_chars: int = 100_000  # of an item's fields
    recall_threshold: float = RECALL_THRESHOLD  # of an extraction from chunks: under it a model is asked about recall
    flex_timeout: float | None = None  # seconds of one call at the flex tier; None: as of any other
    logprobs: bool = True  # the probabilities of the tokens are asked for, where an answer decides
    cache_breakpoint: Breakpoint | None = None  # how the end of a prompt's common beginning is marked; None: not

    @classmethod
    def of(cls, settings: WorkerSettings) -> Self:
        """The policy of a worker with these settings."""
        return cls(
            retry=RetryPolicy(max_calls=settings.max_calls, deadline=settings.item_deadline),
            temperature=settings.temperature,
            max_output_tokens=settings.max_output_tokens,
            max_prompt_chars=settings.max_prompt_chars,
            recall_threshold=settings.recall_threshold,
            flex_timeout=settings.flex_call_timeout,
            logprobs=settings.logprobs,
            cache_breakpoint=settings.cache_breakpoint,
        )
