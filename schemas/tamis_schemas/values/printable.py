"""Foreign text made safe for a terminal or a line of a log."""

import re

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
# Control characters (which begin escape sequences), line and paragraph separators, marks that change the direction of
# text, halves of surrogate pairs.
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_UNPRINTABLE_BUT_LAYOUT = re.compile("(?![\n\t])" + _UNPRINTABLE.pattern)


def printable(text: str) -> str:
    """Return the text with U+FFFD in place of characters that control a terminal.

    Tabs and line feeds stay. A carriage return before a line feed is dropped.
    """
    return _UNPRINTABLE_BUT_LAYOUT.sub(REPLACEMENT, text.replace("\r\n", "\n"))


def printable_line(text: str) -> str:
    """Return the text on one line: tabs and line ends also become U+FFFD, so that it cannot imitate another line."""
    return _UNPRINTABLE.sub(REPLACEMENT, text)
