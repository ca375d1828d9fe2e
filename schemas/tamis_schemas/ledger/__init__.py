"""The ledger: the Postgres tables that hold the truth about every item, and their migrations."""

from .tables import (
    batches,
    exclusions,
    items,
    llm_cache,
    metadata,
    past_failures,
    repairs,
    results,
    reviews,
    shards,
    spending,
    summaries,
    workers,
)

__all__ = [
    "batches",
    "exclusions",
    "items",
    "llm_cache",
    "metadata",
    "past_failures",
    "repairs",
    "results",
    "reviews",
    "shards",
    "spending",
    "summaries",
    "workers",
]
