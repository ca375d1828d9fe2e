"""The kinds of processes that use the ledger, with their connections and time limits."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

# Without these settings, a statement waits for hours after the server's machine or network has failed. (ms and s)
NOTICE_A_LOST_NETWORK: Mapping[str, Any] = {
    "connect_timeout": 5,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 4,
    "tcp_user_timeout": 30_000,
}

ISO_TIMES = "SET datestyle TO 'ISO'"  # whatever the database's default is


@dataclass(frozen=True)
class PoolKind:
    """A kind of process that uses the ledger: its name in Postgres, its time limits, and its number of connections."""

    name: str  # in `pg_stat_activity`, unless the URL has another name
    statement_within: int  # s; a longer statement is ended
    idle_within: int  # s between two statements of a transaction; a longer pause ends it and its locks
    kept: int = 5  # connections that stay open while unused
    most: int = 15  # connections at once

    @property
    def limits(self) -> dict[str, str]:
        """The time limits as settings of Postgres, by name. A limit of 0 seconds is omitted."""
        bounds = {
            "statement_timeout": self.statement_within,
            "idle_in_transaction_session_timeout": self.idle_within,
        }
        return {name: f"{seconds}s" for name, seconds in bounds.items() if seconds}


CLIENT = PoolKind("tamis client", statement_within=1_800, idle_within=300)
GATEWAY = PoolKind("tamis gateway", statement_within=120, idle_within=60, kept=3)
# Between two statements the items of a whole batch may be prepared.
DISPATCH = PoolKind("tamis dispatch", statement_within=120, idle_within=30)
LISTENER = PoolKind("tamis listener", statement_within=60, idle_within=60, kept=2, most=12)  # one listens
# A reading order is computed in one transaction, with a lock that other processes wait for.
READING_ORDERS = PoolKind("tamis reading orders", statement_within=120, idle_within=300, kept=1, most=2)
