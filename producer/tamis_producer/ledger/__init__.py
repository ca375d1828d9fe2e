"""The producer's side of the ledger: write a batch, read how it stands, stream what came out."""

from typing import TYPE_CHECKING

from tamis_schemas.lazy import exports

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

if TYPE_CHECKING:  # the same names as in the table below, which a test holds to these
    from .audits import insert_audit, read_audit, read_audits
    from .calls import CallResult, Hindrance, read_call_results, read_hindrance
    from .connection import connect, connect_on_loop, connect_to_listen, ledger_errors
    from .finding import find_audit, find_batch, find_either, find_review
    from .insertion import check_budget, insert_batch
    from .outcomes import (
        PAGE,
        page_results,
        read_item_ids,
        read_originals,
        read_results,
        stream_results,
    )
    from .overrides import read_operation, read_overrides
    from .pool_kinds import CLIENT, DISPATCH, GATEWAY, NOTICE_A_LOST_NETWORK, PoolKind
    from .service_traffic import read_service_traffic
    from .summaries import read_summaries, read_summary
    from .views import read_reviews, read_views
else:
    __getattr__ = exports(
        __name__,
        {
            "audits": "insert_audit read_audit read_audits",
            "calls": "CallResult Hindrance read_call_results read_hindrance",
            "connection": "connect connect_on_loop connect_to_listen ledger_errors",
            "finding": "find_audit find_batch find_either find_review",
            "insertion": "check_budget insert_batch",
            "outcomes": ("PAGE page_results read_item_ids read_originals read_results stream_results"),
            "overrides": "read_operation read_overrides",
            "pool_kinds": "CLIENT DISPATCH GATEWAY NOTICE_A_LOST_NETWORK PoolKind",
            "service_traffic": "read_service_traffic",
            "summaries": "read_summaries read_summary",
            "views": "read_reviews read_views",
        },
    )
