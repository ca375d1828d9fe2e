"""The console, which shows text from elsewhere as text, even if it contains escape sequences."""

from typing import Any, TextIO

from rich.console import Console
from rich.text import Text

from tamis_schemas.values.printable import printable


class PlainConsole(Console):
    """A console that makes escape sequences in titles, errors and file names harmless. Callers escape markup."""

    def __init__(self, **options: Any) -> None:
        super().__init__(highlight=False, **options)

    def say(self, text: str, *, markup: bool = True) -> None:
        """Print a sentence without line breaks. Only the terminal wraps it, so that people can copy it whole."""
        self.print(text, markup=markup, soft_wrap=True)

    def render_str(self, text: str, **options: Any) -> Text:  # every printed text, in tables too
        """Render a text as rich does, with U+FFFD for each control character."""
        return super().render_str(printable(text), **options)


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
