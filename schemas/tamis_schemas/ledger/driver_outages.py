"""Errors of the driver: which say that the ledger is away, and which that it refuses a statement.

Away means: the same transaction can succeed later, so whoever has something to write keeps it and tries again. All
else is a refusal, which no repetition mends. One table for both floors; the classes are those of the SQL standard and
of Postgres's appendix on error codes. `outages.py` says the same of what SQLAlchemy makes of these errors.
"""

from collections.abc import Mapping
from types import MappingProxyType

import psycopg

from ..errors import ConfigurationError, LedgerUnavailable

# By SQLSTATE, or by its class of two characters; the longer one counts. The words follow upon "Postgres".
OUTAGES: Mapping[str, str] = MappingProxyType(
    {
        "08": "does not answer",
        "25006": "is read-only: a standby, or set so by its operator",
        "25P03": "ended a transaction that was idle",
        "53": "is short of resources",
        "53100": "has no room left on its disk",
        "53200": "has no memory left",
        "53300": "has no connection left",
        "55006": "is busy with what is needed",
        "55P03": "held a lock for too long",
        "57014": "took too long",
        "57P01": "is stopping",
        "57P02": "is recovering from a crash",
        "57P03": "is starting or stopping",
        "57P05": "ended an idle connection",
        "58": "cannot read or write its files",
        "XX001": "finds its data damaged",
        "XX002": "finds its data damaged",
    }
)
# Two transactions stood in each other's way: nothing is wrong with the server.
CONFLICTS = frozenset({"40001", "40P01"})


class LedgerConflict(LedgerUnavailable):
    """Another transaction went first; the same one succeeds when it is tried again."""


def driver_outage(error: BaseException) -> LedgerUnavailable | None:
    """Return the error of ours for a driver's error that says that the ledger is away; None for any other.

    The message is one line, without statements and passwords.
    """
    if isinstance(error, OSError):
        return LedgerUnavailable(f"Postgres does not answer: {_first_line(error)}")
    if not isinstance(error, psycopg.Error):
        return None
    if error.sqlstate in CONFLICTS:
        return LedgerConflict(f"another transaction went first: {_first_line(error)}")
    if error.sqlstate is not None:
        words = OUTAGES.get(error.sqlstate) or OUTAGES.get(error.sqlstate[:2])
        return None if words is None else LedgerUnavailable(f"Postgres {words}: {_first_line(error)}")
    if isinstance(error, psycopg.OperationalError | psycopg.InterfaceError):  # no connection, or a lost one
        return LedgerUnavailable(f"Postgres does not answer: {_first_line(error)}")
    return None


def driver_unusable(error: BaseException) -> ConfigurationError | None:
    """Return the error of ours for a wrong URL: an option that no driver knows; None for any other error."""
    if isinstance(error, psycopg.ProgrammingError) and error.sqlstate is None:
        return ConfigurationError(f"TAMIS_DATABASE_URL cannot be used: {_first_line(error)}")
    return None


def interruption(error: BaseException, handled: BaseException | None) -> BaseException | None:
    """Return the Ctrl-C or the cancellation whose place `error` took; None where there was none.

    What is interrupted in the middle of a statement refuses to be tidied up, and that refusal is what comes out.
    `handled`: what was being handled before the work began.
    """
    earlier: BaseException | None = error
    while earlier is not None and earlier is not handled:
        if not isinstance(earlier, Exception):
            return earlier
        earlier = earlier.__context__
    return None


def _first_line(error: BaseException) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)
