"""The producer's side of the ledger: write a batch, read how it stands, stream what came out."""

from .connection import NOTICE_A_LOST_NETWORK, connect, ledger_errors
from .finding import find_batch, find_either, find_review
from .insertion import check_budget, insert_batch
from .outcomes import read_summaries, read_summary, stream_results
from .views import read_reviews, read_views

__all__ = [
    "NOTICE_A_LOST_NETWORK",
    "check_budget",
    "connect",
    "find_batch",
    "find_either",
    "find_review",
    "insert_batch",
    "ledger_errors",
    "read_reviews",
    "read_summaries",
    "read_summary",
    "read_views",
    "stream_results",
]
