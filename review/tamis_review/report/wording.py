"""The words for numbers, times, names and kinds of errors in a report's sentences."""

from collections.abc import Mapping, Sequence
from datetime import date, datetime

from tamis_schemas import ErrorKind
from tamis_schemas.batches.flow import Tally
from tamis_schemas.records.item import shown_text

LONGEST = 2_000  # characters of one parameter; the hash covers all
_SMALL = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")

_MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July"),
    *("August", "September", "October", "November", "December"),
)  # independent of the machine's language


def records_n(n: int) -> str:
    """Return a number of records as text: `1 record`, `2,695 records`."""
    return "1 record" if n == 1 else f"{n:,} records"


def were(n: int, noun: str = "record") -> str:
    """Return the beginning of a sentence: `1 record was`, `2,695 records were`."""
    return with_verb(n, noun, "was", "were")


def with_verb(n: int, noun: str, one: str, many: str) -> str:
    """Return a number with noun and verb: `1 record has`, `2,695 reports are`."""
    return f"1 {noun} {one}" if n == 1 else f"{n:,} {noun}s {many}"


def small(n: int, one: str, many: str | None = None) -> str:
    """Return a small number in words, with its noun: `one register`, `eight databases`."""
    return f"{_SMALL[n] if n < len(_SMALL) else f'{n:,}'} {one if n == 1 else many or one + 's'}"


def listed(words: Sequence[str]) -> str:
    """Return words as a list in a sentence: `a`, `a and b`, `a, b and c`."""
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last


def tallied(tallies: tuple[Tally, ...]) -> str:
    """Return names with their numbers as text: `title pattern (2), date range (1)`."""
    return ", ".join(f"{spaced(tally.name)} ({tally.n:,})" for tally in tallies)


def moment(at: datetime) -> str:
    """Return a time as text, to the minute and with the time zone: `2026-03-03 14:05 UTC`."""
    return f"{at:%Y-%m-%d %H:%M} {at:%Z}".strip()


def day(on: date) -> str:
    """Return a date as text: `3 March 2026`."""
    return f"{on.day} {_MONTHS[on.month - 1]} {on.year}"


def spaced(name: str) -> str:
    """Return a name from the code as words, with spaces for underscores."""
    return name.replace("_", " ")


def plain(value: object) -> str:
    """Return a parameter's value as text: strings unchanged, other values as JSON. A text that is too long is cut."""
    text = shown_text(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} […]"


_KINDS: Mapping[str, str] = {
    ErrorKind.AUTHENTICATION: "the endpoint refused the key",
    ErrorKind.PERMISSION: "the key may not use the model",
    ErrorKind.MODEL_NOT_FOUND: "the endpoint does not know the model",
    ErrorKind.INVALID_REQUEST: "the endpoint rejected the request",
    ErrorKind.CONTEXT_LENGTH: "the record does not fit into the model's context",
    ErrorKind.TIMEOUT: "no answer in time",
    ErrorKind.CONNECTION: "no connection to the endpoint",
    ErrorKind.SERVER: "error of the endpoint",
    ErrorKind.RATE_LIMITED: "the endpoint's rate limit",
    ErrorKind.REFUSED: "the model declined to answer",
    ErrorKind.CONTENT_FILTER: "blocked by the endpoint's content filter",
    ErrorKind.TRUNCATED: "the answer was cut off",
    ErrorKind.EMPTY: "the answer is empty",
    ErrorKind.MALFORMED: "the answer is not JSON",
    ErrorKind.INVALID: "the answer does not match the request",
    ErrorKind.NO_CONTENT: "the record has no content to evaluate",
    ErrorKind.ATTEMPTS_EXHAUSTED: "too many worker crashes",
    ErrorKind.INTERNAL: "internal error of the software",
}


def error_words(kind: str) -> str:
    """Return a kind of error in words. In an unknown kind, only underscores are replaced by spaces."""
    return _KINDS.get(kind, spaced(kind))
