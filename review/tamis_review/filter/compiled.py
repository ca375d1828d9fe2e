"""Patterns compiled by RE2, which searches in linear time with any pattern.

The error for an invalid pattern shows the position of the fault.
"""

from collections.abc import Callable

from tamis_schemas import InvalidParameters
from tamis_schemas.extras import needs

with needs("files"):
    import re2

# The most bytes for one pattern. If RE2's states need more, RE2 uses a slower engine.
MEMORY = 64 * 2**20
NOT_RE2 = ("(?=", "(?!", "(?<=", "(?<!", "invalid escape sequence: \\")


def options() -> re2.Options:
    made = re2.Options()
    made.case_sensitive = False
    made.never_capture = True
    made.log_errors = False
    made.max_mem = MEMORY
    return made


def compile_trusted(pattern: str) -> re2._Regexp:
    """Compile a pattern of this package to search UTF-8 bytes, and return the compiled pattern."""
    return re2.compile(pattern.encode("utf-8"), options())


def finder(pattern: str) -> Callable[[bytes], bool]:
    """Return a function that tests whether a text contains a pattern of this package."""
    search = compile_trusted(pattern).search
    return lambda text: search(text) is not None


def compile_untrusted(pattern: object, place: str) -> re2._Regexp:
    """Compile a pattern, perhaps from a caller, to search UTF-8 bytes, and return the compiled pattern.

    `place`: the name of the pattern's setting, for messages. Raises `InvalidParameters` for an invalid pattern, with
    `place`, the fault, and the fault's position in the pattern.
    """
    if not isinstance(pattern, str):
        raise InvalidParameters(f"{place}: a pattern must be a text, not a {type(pattern).__name__}")
    if not pattern.strip():
        raise InvalidParameters(f"{place}: the pattern is empty: it would match everything")
    try:
        compiled = re2.compile(pattern.encode("utf-8"), options())
    except UnicodeEncodeError as error:
        raise InvalidParameters(f"{place}: {pattern!r} contains an incomplete character, at {error.start}") from error
    except re2.error as error:
        raise InvalidParameters(f"{place}: {pattern!r}: {_complaint(error, pattern)}") from error
    if compiled.search(b"") is not None:
        raise InvalidParameters(f"{place}: {pattern!r} matches the empty text, and so everything")
    return compiled


def _complaint(error: re2.error, pattern: str) -> str:
    words = error.args[0] if error.args else b""
    message = words.decode("utf-8", "replace") if isinstance(words, bytes) else str(words)
    _, _, fragment = message.partition(": ")
    at = pattern.find(fragment) if fragment else -1
    where = f" (at character {at + 1})" if at > 0 or (at == 0 and fragment != pattern) else ""
    hint = "; RE2 has no lookaround and no backreferences" if any(mark in message for mark in NOT_RE2) else ""
    return f"{message}{where}{hint}"
