"""Foreign text made safe for a terminal or a line of a log."""

import re
from pathlib import Path
from typing import Any, TextIO

STANDARD_OUTPUT = Path("-")  # as other programs name it
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
    """Return the text on one line: tabs and line ends also become U+FFFD, so no part looks like a line of its own."""
    return _UNPRINTABLE.sub(REPLACEMENT, text)


class PrintableStream:
    """A terminal for data, on which control characters appear as U+FFFD."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write the text, with U+FFFD for each control character."""
        return self._stream.write(printable(text))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def for_data(stream: TextIO) -> Any:
    """Return the stream: unchanged for a file or a pipe, as a `PrintableStream` for a terminal."""
    return PrintableStream(stream) if stream.isatty() else stream
