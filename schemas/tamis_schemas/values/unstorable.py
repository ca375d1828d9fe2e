"""Characters that no text of the ledger can hold."""

import json
import re

UNSTORABLE = re.compile("[\\x00\\ud800-\\udfff]")  # NUL and halves of surrogate pairs

_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
_NUL_ESCAPE = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")  # the escape, not a backslash followed by five characters


def to_json(value: object) -> str:
    """Return a value as compact JSON.

    Raises `ValueError` if JSON or Postgres cannot hold the value: for NaN, NUL, or half of a surrogate pair.
    """
    text = _ENCODER.encode(value)
    if "\\u0000" in text and _NUL_ESCAPE.search(text):  # the plain search is a hundred times as fast
        raise ValueError("it contains a NUL character, which Postgres cannot store")
    text.encode("utf-8")  # half a surrogate pair raises UnicodeEncodeError, a ValueError
    return text
