"""A value on one line, as a model is shown it and as its answer may quote it."""

import json
from typing import Any


def one_line(text: str) -> str:
    """The text with every run of white space, line and paragraph separators among it, as one space."""
    return " ".join(text.split())


def shown_value(value: Any) -> str:
    """A field's value on one line: lists of texts joined by commas, other values as JSON."""
    if isinstance(value, str):
        return one_line(value)
    if isinstance(value, list | tuple) and all(isinstance(part, str) for part in value):
        return ", ".join(one_line(part) for part in value)
    return one_line(json.dumps(value, ensure_ascii=False))
