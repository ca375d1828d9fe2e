"""A paragraph of a report's methods."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Paragraph:
    """A paragraph under a heading, with the lists that belong to it."""

    heading: str
    text: str
    listed: tuple[str, ...] = ()
