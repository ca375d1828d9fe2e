"""The receiver of a batch's events."""

from enum import StrEnum
from typing import Any
from urllib.parse import urlsplit

from pydantic import ConfigDict, Field, field_validator

from ..values.frozen import Frozen

LONGEST_URL = 2_000  # characters
SCHEMES = ("https", "http")


class BatchEvent(StrEnum):
    """An event that a receiver may want to hear of."""

    COMPLETED = "batch.completed"  # or cancelled, and its last call has ended: nothing more happens
    PAUSED = "batch.paused"  # by itself: it cannot go on before somebody puts the reason right
    FAILING = "batch.failing"  # more of its items failed than `failed_share`; told once a round


class Callback(Frozen):
    """A URL that is sent a signed webhook for each event."""

    model_config = ConfigDict(extra="forbid")

    url: str = Field(max_length=LONGEST_URL, description="https, or http where the workers are set to allow it.")
    events: tuple[BatchEvent, ...] = Field(default=tuple(BatchEvent), min_length=1)
    failed_share: float = Field(
        strict=True,
        default=0.1,
        ge=0,
        le=1,
        description="Of the items that ended: above it the batch counts as failing.",
    )

    def kept(self) -> dict[str, Any]:
        """Return it as the ledger keeps it."""
        return self.model_dump(mode="json")

    @field_validator("url")
    @classmethod
    def _can_be_called(cls, url: str) -> str:
        """A password would be kept in the ledger: what a receiver trusts is the signature."""
        try:
            parts = urlsplit(url)
            _ = parts.port
        except ValueError:
            raise ValueError("this cannot be read as a URL: https://host/path") from None
        if parts.scheme not in SCHEMES or not parts.hostname:
            raise ValueError("a callback begins with https:// and a host")
        if not url.isascii() or not url.isprintable() or " " in url:
            raise ValueError("a callback has ASCII characters alone in it, and no spaces: write others as %XX")
        if "@" in parts.netloc:
            raise ValueError("a callback holds no user and no password: webhooks are signed, see docs/webhooks.md")
        return url
