"""Errors of the driver: an unavailable ledger, or a refused statement.

If the ledger is unavailable, the same transaction can succeed later, so the writer keeps its data and tries again. Any
other error is a refusal, which will recur. The error classes in `OUTAGES` are from the SQL standard and Postgres's
appendix on error codes.
"""

import errno
from collections.abc import Mapping

import psycopg

from ..errors import ConfigurationError, LedgerUnavailable
from ..values.network_words import network_words

NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT})  # on a disk of this machine

# By SQLSTATE, or by its class of two characters; the longer match counts. In messages, these words follow "Postgres".
OUTAGES: Mapping[str, str] = {
    "08": "does not answer",
    "25006": "is read-only: a standby, or configured so",
    "25P03": "ended a transaction that was idle",
    "53": "is short of resources",
    "53100": "has no disk space left",
    "53200": "has no memory left",
    "53300": "has no free connection",
    "55006": "is using an object that is needed",
    "55P03": "did not release a lock in time",
    "57014": "took too long",
    "57P01": "is stopping",
    "57P02": "is recovering from a crash",
    "57P03": "is starting or stopping",
    "57P05": "ended an idle connection",
    "58": "cannot read or write its files",
    "XX001": "reports damaged data",
    "XX002": "reports damaged data",
}
READ_ONLY = "25006"  # the server was the primary when the connection began
# Two transactions conflicted: the server works.
CONFLICTS = frozenset({"40001", "40P01"})


class LedgerConflict(LedgerUnavailable):
    """Another transaction came first. The same transaction may succeed when it is repeated."""


def driver_outage(error: BaseException) -> LedgerUnavailable | None:
    """Return `LedgerUnavailable` if a driver's error means that Postgres cannot answer now; None for any other error.

    The message is one line, without statements and passwords.
    """
    if isinstance(error, OSError):
        if error.errno in NO_ROOM:
            return None
        return LedgerUnavailable(f"Postgres does not answer: {_first_line(error)}")
    if not isinstance(error, psycopg.Error):
        return None
    if error.sqlstate in CONFLICTS:
        return LedgerConflict(f"another transaction was first: {_first_line(error)}")
    if error.sqlstate is not None:
        words = OUTAGES.get(error.sqlstate) or OUTAGES.get(error.sqlstate[:2])
        return None if words is None else LedgerUnavailable(f"Postgres {words}: {_first_line(error)}")
    if isinstance(error, psycopg.OperationalError | psycopg.InterfaceError):  # no connection, or a lost one
        return LedgerUnavailable(f"Postgres does not answer: {_first_line(error)}")
    return None


def driver_unusable(error: BaseException) -> ConfigurationError | None:
    """Return `ConfigurationError` if a driver's error means that the URL has an unknown option; else None."""
    if isinstance(error, psycopg.ProgrammingError) and error.sqlstate is None:
        return ConfigurationError(f"TAMIS_DATABASE_URL is invalid: {_first_line(error)}")
    return None


def interruption(error: BaseException, handled: BaseException | None) -> BaseException | None:
    """Return the `KeyboardInterrupt` or the cancellation that `error` replaced; None if there was none.

    After an interrupted statement the clean-up fails too, and only the clean-up's error is raised. `handled`: the error
    that was being handled before the work began.
    """
    earlier: BaseException | None = error
    while earlier is not None and earlier is not handled:
        if not isinstance(earlier, Exception):
            return earlier
        earlier = earlier.__context__
    return None


def _first_line(error: BaseException) -> str:
    text = str(error)
    return network_words(text) or next(iter(text.strip().splitlines()), type(error).__name__)
