"""The key of the LLM: will it expire, and is it renewed."""

import base64
import binascii
import json
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from .finding import Finding, ok, warning

SUBJECT = "LLM key"
SOON = timedelta(hours=24)  # a batch may run for as long


class KeyOrigin(StrEnum):
    """The source of the key."""

    NONE = "none"
    SETTING = "setting"  # read once, when a process starts
    FILE = "file"  # of TAMIS_LLM_API_KEY_FILE
    COMMAND = "command"  # of TAMIS_LLM_API_KEY_COMMAND


def expiry_of(key: str) -> datetime | None:
    """When a key that is a JSON web token expires (its claim `exp`); None where it is none, or does not say."""
    parts = key.split(".")
    if len(parts) != 3:
        return None
    try:
        claims = json.loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
        return datetime.fromtimestamp(claims["exp"], UTC)
    except (binascii.Error, ValueError, KeyError, TypeError, OverflowError, OSError):
        return None


def judge_key(source: KeyOrigin, expires: datetime | None, now: datetime) -> list[Finding]:
    """Return what to say of the key; nothing where there is none."""
    if source is KeyOrigin.NONE:
        return []
    renewed = {
        KeyOrigin.FILE: "the file of TAMIS_LLM_API_KEY_FILE is read again when it changes",
        KeyOrigin.COMMAND: "TAMIS_LLM_API_KEY_COMMAND prints a fresh one",
    }.get(source)
    if expires is None:
        text = "it does not say when it expires" + (f"; {renewed}" if renewed else "")
        return [ok(SUBJECT, text)]
    left = expires - now
    at = f"{expires:%Y-%m-%d %H:%M} UTC"
    if left <= timedelta(0):
        mend = "have it renewed" if renewed else "put a fresh one into TAMIS_LLM_API_KEY"
        return [warning(SUBJECT, f"it expired at {at}", mend)]
    text = f"it expires in {_words(left)}, at {at}"
    if renewed:
        return [ok(SUBJECT, f"{text}; {renewed}")]
    if left <= SOON:
        mend = "name a file that is renewed in TAMIS_LLM_API_KEY_FILE, or a command in TAMIS_LLM_API_KEY_COMMAND"
        return [warning(SUBJECT, f"{text}, and nothing renews it", mend)]
    return [ok(SUBJECT, text)]


def _words(left: timedelta) -> str:
    """`3 days`, `5 hours`, `58 minutes`: the largest unit that there are two of."""
    seconds = left.total_seconds()
    for unit, length in (("days", 86_400), ("hours", 3_600), ("minutes", 60)):
        if seconds >= 2 * length:
            return f"{seconds // length:,.0f} {unit}"
    return f"{seconds:.0f} seconds"
