"""Kinds of errors in words, for a reader of a report."""

from tamis_schemas import ErrorKind

_KINDS = {
    ErrorKind.AUTHENTICATION: "the endpoint refused the key",
    ErrorKind.PERMISSION: "the key may not use the model",
    ErrorKind.MODEL_NOT_FOUND: "the endpoint does not know the model",
    ErrorKind.INVALID_REQUEST: "the endpoint rejected the request",
    ErrorKind.CONTEXT_LENGTH: "the record does not fit into the model's context",
    ErrorKind.TIMEOUT: "no answer in time",
    ErrorKind.CONNECTION: "no connection to the endpoint",
    ErrorKind.SERVER: "an error of the endpoint",
    ErrorKind.RATE_LIMITED: "the endpoint's rate limit",
    ErrorKind.REFUSED: "the model declined to answer",
    ErrorKind.CONTENT_FILTER: "held back by the endpoint's content filter",
    ErrorKind.TRUNCATED: "the answer was cut off",
    ErrorKind.EMPTY: "an answer without content",
    ErrorKind.MALFORMED: "an answer that is no JSON",
    ErrorKind.INVALID: "an answer that is not what was asked for",
    ErrorKind.NO_CONTENT: "the record holds nothing to evaluate",
    ErrorKind.ATTEMPTS_EXHAUSTED: "its workers died too often",
    ErrorKind.INTERNAL: "a fault of the software",
}


def error_words(kind: str) -> str:
    """A kind of error in words; one that is not known as it stands."""
    try:
        return _KINDS[ErrorKind(kind)]
    except ValueError:
        return kind.replace("_", " ")
