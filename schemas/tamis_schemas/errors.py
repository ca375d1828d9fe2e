"""The error tree, and the kinds of error of an item.

TamisError
├── Unavailable                  try again: a server does not answer
│   ├── BrokerUnavailable
│   └── LedgerUnavailable
├── InvalidRequest               fix the request
│   ├── InputError               a mistake in a file
│   ├── InvalidParameters        an operation's parameters
│   ├── IdempotencyConflict      one key, two different contents
│   ├── UnknownBatch
│   ├── IllegalTransition        the present state does not allow it
│   └── NotAllowed               the API key does not allow it
│       ├── AllowanceSpent       the key's monthly allowance
│       └── Blinded              while people read blind
├── ConfigurationError           fix the configuration
└── OperationFailed              ask an operator
    ├── WaitTimeout              a batch did not finish in the given time
    └── BatchPaused              a batch needs a correction before it can continue

Exceptions are for callers. The failure of one item is not an exception: it is an `ErrorKind` in the ledger.
"""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # errors import no model until they describe one
    from .pause import Pause


class TamisError(Exception):
    """Every error that Tamis raises on purpose."""


class Unavailable(TamisError):
    """A required server does not answer; the same call may succeed later."""


class BrokerUnavailable(Unavailable):
    """The broker (Redis or RabbitMQ) does not answer."""


class LedgerUnavailable(Unavailable):
    """The ledger (Postgres) does not answer."""


class InvalidRequest(TamisError):
    """The request cannot be carried out; nothing was done."""


class InputError(InvalidRequest):
    """A file cannot be read in its expected form.

    The message is one line: file, line and field if known, then the mistake.
    """

    def __init__(self, message: str, *, path: Path | str, line: int | None = None, field: str | None = None) -> None:
        self.path = str(path)
        self.line = line
        self.field = field
        place = self.path if line is None else f"{self.path}:{line}"
        where = place if field is None else f"{place}: field {field!r}"
        super().__init__(f"{where}: {message}")


class InvalidParameters(InvalidRequest):
    """An operation's parameters, or an item, are invalid."""


class IdempotencyConflict(InvalidRequest):
    """An idempotency key, or the id of a decision, was used before, for other content."""


class UnknownBatch(InvalidRequest):
    """No batch has this id."""


class IllegalTransition(InvalidRequest):
    """The requested state cannot follow the present state."""


class NotAllowed(InvalidRequest):
    """The API key of a request to the gateway does not allow the request."""


class AllowanceSpent(NotAllowed):
    """The monthly allowance of the key is spent."""


class Blinded(NotAllowed):
    """The answer would reveal a decision that is hidden while people decide independently."""


class ConfigurationError(TamisError):
    """A setting or an installed package is missing or wrong."""


class OperationFailed(TamisError):
    """An operation failed unexpectedly; the message says where an operator can look."""


class WaitTimeout(OperationFailed):
    """A batch was not finished within the given time. The batch continues."""


class BatchPaused(OperationFailed):
    """A batch paused itself. The batch's items stay pending until the batch is resumed."""

    def __init__(self, batch_id: str, pause: "Pause") -> None:
        self.batch_id = batch_id
        self.pause = pause
        super().__init__(f"batch {batch_id} is paused: {pause.reason}. {pause.remedy(batch_id)}")


class ErrorKind(StrEnum):
    """The reason why an item has no decision. An error never counts as a decision."""

    AUTHENTICATION = "authentication"  # the endpoint refuses the key
    PERMISSION = "permission"  # the key may not use this model
    MODEL_NOT_FOUND = "model_not_found"
    INVALID_REQUEST = "invalid_request"  # the endpoint rejects the request itself
    CONTEXT_LENGTH = "context_length"  # the item does not fit into the model's context
    TIMEOUT = "timeout"
    CONNECTION = "connection"
    SERVER = "server"  # 5xx
    RATE_LIMITED = "rate_limited"  # only makes an item wait, never ends it
    REFUSED = "refused"  # the model declines to answer
    CONTENT_FILTER = "content_filter"
    TRUNCATED = "truncated"  # the answer was cut off at the token budget
    EMPTY = "empty"  # an answer without content
    MALFORMED = "malformed"  # an answer that is not JSON
    INVALID = "invalid"  # JSON, but not according to the schema
    NO_CONTENT = "no_content"  # the item has no content to evaluate
    ATTEMPTS_EXHAUSTED = "attempts_exhausted"  # its workers died too often
    INTERNAL = "internal"  # a fault of Tamis itself
