"""What the doctor finds."""

from dataclasses import dataclass
from enum import StrEnum


class Level(StrEnum):
    """The severity of a finding."""

    OK = "ok"
    WARNING = "warning"  # it works, and something may come of it
    FAILURE = "failure"  # it does not work


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at."""

    subject: str
    level: Level
    what: str  # one line
    mend: str | None = None  # one line; None where there is nothing to mend


def ok(subject: str, what: str) -> Finding:
    """All is well."""
    return Finding(subject, Level.OK, what)


def warning(subject: str, what: str, mend: str) -> Finding:
    """It works, and something may come of it."""
    return Finding(subject, Level.WARNING, what, mend)


def ok_if(well: bool, subject: str, what: str, mend: str) -> Finding:
    """All is well, or something may come of it."""
    return ok(subject, what) if well else warning(subject, what, mend)


def failure(subject: str, what: str, mend: str) -> Finding:
    """It does not work."""
    return Finding(subject, Level.FAILURE, what, mend)
