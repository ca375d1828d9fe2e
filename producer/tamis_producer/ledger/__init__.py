"""The producer's side of the ledger: write a batch, read how it stands, stream what came out."""

from .audits import insert_audit, read_audit, read_audits
from .calls import CallResult, Hindrance, read_call_results, read_hindrance
from .connection import (
    CLIENT,
    DISPATCH,
    GATEWAY,
    NOTICE_A_LOST_NETWORK,
    PoolKind,
    connect,
    connect_on_loop,
    connect_to_listen,
    ledger_errors,
)
from .finding import find_audit, find_batch, find_either, find_review
from .insertion import check_budget, insert_batch
from .outcomes import (
    PAGE,
    page_results,
    read_item_ids,
    read_originals,
    read_results,
    read_summaries,
    read_summary,
    stream_results,
)
from .overrides import read_operation, read_overrides
from .service_traffic import read_service_traffic
from .views import read_reviews, read_views

__all__ = [
    "CLIENT",
    "DISPATCH",
    "GATEWAY",
    "NOTICE_A_LOST_NETWORK",
    "PAGE",
    "CallResult",
    "Hindrance",
    "PoolKind",
    "check_budget",
    "connect",
    "connect_on_loop",
    "connect_to_listen",
    "find_audit",
    "find_batch",
    "find_either",
    "find_review",
    "insert_audit",
    "insert_batch",
    "ledger_errors",
    "page_results",
    "read_audit",
    "read_audits",
    "read_call_results",
    "read_hindrance",
    "read_item_ids",
    "read_operation",
    "read_originals",
    "read_overrides",
    "read_results",
    "read_reviews",
    "read_service_traffic",
    "read_summaries",
    "read_summary",
    "read_views",
    "stream_results",
]
