"""A random secret in a file of its own, which only its owner may read."""

import secrets
from pathlib import Path

from tamis_producer.config.private_file import read_private, write_private


def kept_secret(path: Path) -> str:
    """The secret in `path`; made at the first call, the same ever after. Letters, digits, `-` and `_` only."""
    try:
        return read_private(path).strip()
    except FileNotFoundError:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_private(path, secrets.token_urlsafe(24))
        return read_private(path).strip()
