"""A key as a file holds it or a command prints it, and when it expires. Pure."""

import base64
import binascii
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

KEYS = ("accessToken", "access_token", "token", "key")  # of az, of OAuth and gcloud's helper, of others
INSTANTS = ("expires_on", "expires_at", "token_expiry", "expiry")  # seconds since 1970, or ISO 8601 with its zone
_SENDABLE = re.compile(r"[!-~]+")  # in a header; neither a blank nor a line end


@dataclass(frozen=True, slots=True)
class PrintedKey:
    """A key, and what stands beside it of its end."""

    text: str = field(repr=False)
    expires_at: float | None = None  # seconds since 1970
    expires_in: float | None = None  # seconds from now


def read_key(text: str) -> PrintedKey | None:
    """The key in a text: its only line, or the token in a JSON object; None where there is none that could be sent.

    JSON as `az account get-access-token` and `gcloud config config-helper --format=json` print it, and as OAuth
    answers. What it says of its expiry is read where it names a zone or counts seconds.
    """
    printed: dict[str, Any] = {}
    if text.lstrip()[:1] == "{":
        try:
            printed = json.loads(text)
        except (ValueError, RecursionError):
            return None
        if isinstance(printed.get("credential"), dict):
            printed = printed["credential"]
        text = next((value for name in KEYS if isinstance(value := printed.get(name), str)), "")
    key = text.strip()
    if not is_sendable(key):
        return None
    instants = (_instant(printed.get(name)) for name in INSTANTS)
    expires_at = next((instant for instant in instants if instant is not None), expiry_of(key))
    return PrintedKey(key, expires_at, _seconds(printed.get("expires_in")))


def is_sendable(key: str) -> bool:
    """True where a header can hold a key: one word of printable ASCII."""
    return _SENDABLE.fullmatch(key) is not None


def expiry_of(key: str) -> float | None:
    """When a key expires by its own word, in seconds since 1970: the `exp` of a JSON Web Token; None: it says nothing.

    The signature is not looked at: this is for what to tell people, and for when to ask for another key.
    """
    parts = key.split(".")
    if len(parts) != 3:
        return None
    try:
        claims = json.loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    except (ValueError, RecursionError, binascii.Error):
        return None
    return _seconds(claims.get("exp")) if isinstance(claims, Mapping) else None


def _instant(value: object) -> float | None:
    if isinstance(value, str) and not value.isdecimal():
        try:
            instant = datetime.fromisoformat(value)
        except ValueError:
            return None
        return instant.timestamp() if instant.tzinfo is not None else None  # a local time of nobody knows where
    return _seconds(value)


def _seconds(value: object) -> float | None:
    if isinstance(value, str) and value.isdecimal() and len(value) <= 15:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e15:
        return None
    return float(value)
