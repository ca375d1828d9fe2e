"""Soft hyphens (U+00AD): marks of possible line breaks within a word."""

import re

_SOFT_HYPHEN = "\u00ad"
_WITHIN_WORD = re.compile(rf"{_SOFT_HYPHEN}(?:[ \t]*\r?\n[ \t]*)?")  # with a line break at this hyphen


def without_soft_hyphens(text: str) -> str:
    """Return the text without soft hyphens, and without line breaks after them."""
    return _WITHIN_WORD.sub("", text) if _SOFT_HYPHEN in text else text


def place_in_original(text: str, start: int, end: int) -> slice:
    """Return the slice of `text` that contains the characters `start` to `end` of `without_soft_hyphens(text)`."""
    if _SOFT_HYPHEN in text:
        for match in _WITHIN_WORD.finditer(text):
            length = match.end() - match.start()
            start += length if match.start() <= start else 0
            end += length if match.start() < end else 0
    return slice(start, end)
