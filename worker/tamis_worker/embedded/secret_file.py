"""A random secret in a file of its own, which only its owner may read."""

import os
import secrets
from pathlib import Path


def kept_secret(path: Path) -> str:
    """The secret in `path`; made at the first call, the same ever after. Letters, digits, `-` and `_` only."""
    try:
        return path.read_text("ascii").strip()
    except FileNotFoundError:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_suffix(f".{os.getpid()}.draft")
        draft.touch(mode=0o600)
        draft.write_text(secrets.token_urlsafe(24), "ascii")
        draft.replace(path)
        return path.read_text("ascii").strip()
