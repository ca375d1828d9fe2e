"""A file for its owner's eyes alone, such as one with a random secret."""

import os
import tempfile
from pathlib import Path


def write_private(path: Path, text: str) -> None:
    """Put a file in place in one step; at no moment may anybody else read it, whatever stood there before."""
    handle, draft = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")  # of mode 0600, and nobody else's link
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            stream.write(text)
        Path(draft).replace(path)
    finally:
        Path(draft).unlink(missing_ok=True)


def read_private(path: Path) -> str:
    """Return the text of a file, which from now on only its owner may read. Raises `OSError` as reading does."""
    with path.open(encoding="utf-8") as stream:
        if os.fstat(stream.fileno()).st_mode & 0o077:  # copied, or taken out of an archive
            os.fchmod(stream.fileno(), 0o600)
        return stream.read()


def kept_secret(path: Path) -> str:
    """The secret in `path`; made at the first call, the same ever after. Letters, digits, `-` and `_` only."""
    try:
        return read_private(path).strip()
    except FileNotFoundError:
        from secrets import token_urlsafe  # most commands make no secret, and need not wait for it

        path.parent.mkdir(parents=True, exist_ok=True)
        write_private(path, token_urlsafe(24))
        return read_private(path).strip()
