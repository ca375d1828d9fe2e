"""Files that only their owner may read, such as a random secret."""

import os
import tempfile
from pathlib import Path


def write_private(path: Path, text: str) -> None:
    """Write a file in one step. Only its owner can read it, even if it replaces a file that others could read."""
    handle, draft = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")  # mode 0600, and no other link
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            stream.write(text)
        Path(draft).replace(path)
    finally:
        Path(draft).unlink(missing_ok=True)


def read_private(path: Path) -> str:
    """Return the text of a file, and let only the owner read the file. Raises `OSError` for an unreadable file."""
    with path.open(encoding="utf-8") as stream:
        if os.fstat(stream.fileno()).st_mode & 0o077:  # other users may read a copy, or a file from an archive
            os.fchmod(stream.fileno(), 0o600)
        return stream.read()


def kept_secret(path: Path) -> str:
    """Return the secret in the file `path`.

    If the file is missing, create it with a random secret of letters, digits, `-` and `_`.
    """
    try:
        return read_private(path).strip()
    except FileNotFoundError:
        from secrets import token_urlsafe  # imported here, as most commands make no secret

        path.parent.mkdir(parents=True, exist_ok=True)
        write_private(path, token_urlsafe(24))
        return read_private(path).strip()
