"""Printable: foreign text as it may be shown on a terminal or stand in a line of a log."""

import re

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
# Control characters (an escape sequence begins with one), line and paragraph separators, marks that turn the direction
# of text, halves of surrogate pairs.
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_UNPRINTABLE_BUT_LAYOUT = re.compile("(?![\n\t])" + _UNPRINTABLE.pattern)


def printable(text: str) -> str:
    """The text with U+FFFD for what would steer a terminal; line ends (Windows' as plain ones) and tabs stay."""
    return _UNPRINTABLE_BUT_LAYOUT.sub(REPLACEMENT, text.replace("\r\n", "\n"))


def printable_line(text: str) -> str:
    """The same on one line, so that it can begin no line of its own."""
    return _UNPRINTABLE.sub(REPLACEMENT, text)
