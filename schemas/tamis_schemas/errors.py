"""The error tree, and the kinds of error an item can end with.

TamisError
├── Unavailable                  try again: a server does not answer
│   ├── BrokerUnavailable
│   └── LedgerUnavailable
├── InvalidRequest               fix the request
│   ├── InputError               a file, at a place
│   ├── InvalidParameters        an operation's parameters
│   ├── IdempotencyConflict      one key, two different contents
│   ├── UnknownBatch
│   ├── IllegalTransition        a state that cannot follow another
│   └── NotAllowed               by the gateway's key that it is asked with
│       ├── AllowanceSpent       before the month ends
│       └── Blinded              as long as people read blind
├── ConfigurationError           fix the configuration
└── OperationFailed              ask an operator
    ├── WaitTimeout              a batch did not finish in the given time
    └── BatchPaused              a batch cannot go on before somebody puts its reason right

Exceptions are for callers. What goes wrong with one item is not an exception: it is an `ErrorKind` in the ledger.
"""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # an error needs no model before there is one to tell of
    from .pause import Pause


class TamisError(Exception):
    """Every error that Tamis raises on purpose."""


class Unavailable(TamisError):
    """A server that is needed does not answer; the same call may succeed later."""


class BrokerUnavailable(Unavailable):
    """The broker (Redis) does not answer."""


class LedgerUnavailable(Unavailable):
    """The ledger (Postgres) does not answer."""


class InvalidRequest(TamisError):
    """The request cannot be carried out as it stands; nothing was done."""


class InputError(InvalidRequest):
    """A file cannot be read as what it should be.

    The message is one line: file, line and field where they are known, then what is wrong.
    """

    def __init__(self, message: str, *, path: Path | str, line: int | None = None, field: str | None = None) -> None:
        self.path = str(path)
        self.line = line
        self.field = field
        place = self.path if line is None else f"{self.path}:{line}"
        where = place if field is None else f"{place}: field {field!r}"
        super().__init__(f"{where}: {message}")


class InvalidParameters(InvalidRequest):
    """An operation's parameters, or an item, are not what the operation takes."""


class IdempotencyConflict(InvalidRequest):
    """An idempotency key, or the id of a decision, was used before, for other content."""


class UnknownBatch(InvalidRequest):
    """No batch has this id."""


class IllegalTransition(InvalidRequest):
    """A state that cannot follow the present one."""


class NotAllowed(InvalidRequest):
    """The gateway's key that it is asked with does not allow it."""


class AllowanceSpent(NotAllowed):
    """The batches of one key may cost no more this month."""


class Blinded(NotAllowed):
    """It would tell of a decision that is hidden while people read blind."""


class ConfigurationError(TamisError):
    """A setting or an installed part is missing or wrong."""


class OperationFailed(TamisError):
    """Something that should have worked did not; the message says what an operator can look at."""


class WaitTimeout(OperationFailed):
    """A batch was not finished within the time given; it goes on."""


class BatchPaused(OperationFailed):
    """A batch was paused because it could not go on; its items stay pending until it is resumed."""

    def __init__(self, batch_id: str, pause: "Pause") -> None:
        self.batch_id = batch_id
        self.pause = pause
        super().__init__(f"batch {batch_id} is paused: {pause.reason}. {pause.remedy(batch_id)}")


class ErrorKind(StrEnum):
    """The reason why an item has no decision. None of these is ever a decision."""

    AUTHENTICATION = "authentication"  # the endpoint refuses the key
    PERMISSION = "permission"  # the key may not use this model
    MODEL_NOT_FOUND = "model_not_found"
    INVALID_REQUEST = "invalid_request"  # the endpoint rejects the request itself
    CONTEXT_LENGTH = "context_length"  # the item does not fit into the model's context
    TIMEOUT = "timeout"
    CONNECTION = "connection"
    SERVER = "server"  # 5xx
    RATE_LIMITED = "rate_limited"  # decides how to wait; never the end of an item
    REFUSED = "refused"  # the model declines to answer
    CONTENT_FILTER = "content_filter"
    TRUNCATED = "truncated"  # the answer was cut off at the token budget
    EMPTY = "empty"  # an answer without content
    MALFORMED = "malformed"  # an answer that is not JSON
    INVALID = "invalid"  # JSON, but not what the schema asks for
    NO_CONTENT = "no_content"  # the item holds nothing that could be evaluated
    ATTEMPTS_EXHAUSTED = "attempts_exhausted"  # its workers died too often
    INTERNAL = "internal"  # a fault of Tamis itself
