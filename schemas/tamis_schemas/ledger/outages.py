"""Errors of SQLAlchemy: an unavailable ledger, or a refused statement.

The table of the driver's errors is in `driver_outages.py`.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from ..errors import ConfigurationError, LedgerUnavailable
from .driver_outages import CONFLICTS, OUTAGES, LedgerConflict, driver_outage, driver_unusable, interruption

__all__ = ["CONFLICTS", "OUTAGES", "LedgerConflict", "interruption", "outage", "translated", "unusable"]


def outage(error: BaseException) -> LedgerUnavailable | None:
    """Return `LedgerUnavailable` if an error means that Postgres cannot answer now; None for any other error.

    The message is one line, without statements and passwords.
    """
    if isinstance(error, PoolTimeout):
        return LedgerUnavailable("Postgres does not answer: no connection became free in time")
    if not isinstance(error, DBAPIError):
        return driver_outage(error)
    if error.connection_invalidated and isinstance(error.orig, psycopg.Error) and error.orig.sqlstate is None:
        return LedgerUnavailable("the connection to Postgres was lost")
    return None if error.orig is None else driver_outage(error.orig)


def unusable(error: BaseException) -> ConfigurationError | None:
    """Return `ConfigurationError` if an error means that the URL has an unknown option; None for any other error."""
    driver = error.orig if isinstance(error, DBAPIError) else error
    return None if driver is None else driver_unusable(driver)


@contextmanager
def translated() -> Iterator[None]:
    """Turn the errors of an unavailable Postgres, or of a wrong URL, into Tamis's errors."""
    handled = sys.exception()
    try:
        yield
    except DBAPIError as error:
        if (stopped := interruption(error, handled)) is not None:
            raise stopped from None
        if (mapped := outage(error) or unusable(error)) is not None:
            raise mapped from error
        raise
