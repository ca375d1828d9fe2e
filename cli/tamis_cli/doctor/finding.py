"""The findings of the doctor."""

from dataclasses import dataclass
from enum import StrEnum


class Level(StrEnum):
    """The severity of a finding."""

    OK = "ok"
    WARNING = "warning"  # the subject works, with a risk
    FAILURE = "failure"  # the subject does not work


@dataclass(frozen=True)
class Finding:
    """The result of checking a subject, such as the ledger or the disk."""

    subject: str
    level: Level
    what: str  # one line
    mend: str | None = None  # the remedy, one line; None: no remedy is needed


def ok(subject: str, what: str) -> Finding:
    """Return a finding without a fault."""
    return Finding(subject, Level.OK, what)


def warning(subject: str, what: str, mend: str) -> Finding:
    """Return a warning: the subject works, with a risk."""
    return Finding(subject, Level.WARNING, what, mend)


def ok_if(well: bool, subject: str, what: str, mend: str) -> Finding:
    """Return a finding without a fault if `well` is True, else a warning."""
    return ok(subject, what) if well else warning(subject, what, mend)


def failure(subject: str, what: str, mend: str) -> Finding:
    """Return a failure: the subject does not work."""
    return Finding(subject, Level.FAILURE, what, mend)
