"""Celery's remote control commands that a worker of Tamis refuses, each with what does what was meant by it."""

from collections.abc import Mapping
from types import MappingProxyType

_ITEMS_AT_ONCE = (
    "items need no thread of a pool: TAMIS_CONCURRENCY is how many a worker has in flight, and it is started anew with "
    "another one; or start more workers"
)
_ALL_QUEUES = (
    "every worker takes from all queues of Tamis by weighted turns, and from no other: `tamis priority BATCH` "
    "changes how soon a batch is served, `tamis pause BATCH` has it wait"
)

REFUSED: Mapping[str, str] = MappingProxyType(
    {
        "rate_limit": (
            "the calls to a model are limited, for all workers and operations together, and not the items of one: "
            "TAMIS_LIMIT_RPM, TAMIS_LIMIT_TPM and TAMIS_LIMIT_CONCURRENCY, for workers that are started anew"
        ),
        "time_limit": (
            "no item is cut off by the clock of a pool: TAMIS_CALL_TIMEOUT bounds a call and TAMIS_ITEM_DEADLINE an "
            "item, for workers that are started anew; `revoke` ends a single item"
        ),
        "pool_grow": _ITEMS_AT_ONCE,
        "pool_shrink": _ITEMS_AT_ONCE,
        "pool_restart": "there are no child processes to restart: stop the worker (`shutdown`) and start it anew",
        "autoscale": _ITEMS_AT_ONCE,
        "add_consumer": _ALL_QUEUES,
        "election": "workers elect nobody: who does something for all of them takes a lock in the ledger",
    }
)
