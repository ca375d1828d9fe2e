"""The ledger: the Postgres tables that hold the truth about every item, and their migrations."""

from typing import TYPE_CHECKING

from ..lazy import exports

__all__ = [
    "api_keys",
    "audit_decisions",
    "audit_items",
    "audits",
    "batches",
    "dialects",
    "evaluations",
    "exclusions",
    "items",
    "llm_cache",
    "metadata",
    "overrides",
    "past_failures",
    "payloads",
    "prompts",
    "repairs",
    "results",
    "reviews",
    "shards",
    "spending",
    "summaries",
    "tallies",
    "transcripts",
    "webhooks",
    "workers",
]

if TYPE_CHECKING:  # the same names as in the table below, which a test holds to these
    from .tables import (
        api_keys,
        audit_decisions,
        audit_items,
        audits,
        batches,
        dialects,
        evaluations,
        exclusions,
        items,
        llm_cache,
        metadata,
        overrides,
        past_failures,
        payloads,
        prompts,
        repairs,
        results,
        reviews,
        shards,
        spending,
        summaries,
        tallies,
        transcripts,
        webhooks,
        workers,
    )
else:
    __getattr__ = exports(
        __name__,
        {
            "tables": (
                "api_keys audit_decisions audit_items audits batches dialects evaluations exclusions items "
                "llm_cache metadata overrides past_failures payloads prompts repairs results reviews shards "
                "spending summaries tallies transcripts webhooks workers"
            ),
        },
    )
