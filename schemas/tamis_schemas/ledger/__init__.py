"""The ledger: the Postgres tables that hold the truth about every item, and their migrations."""

from .tables import batches, items, llm_cache, metadata, results, shards, summaries, workers

__all__ = ["batches", "items", "llm_cache", "metadata", "results", "shards", "summaries", "workers"]
