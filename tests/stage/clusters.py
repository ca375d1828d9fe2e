"""Clusters of Postgres made once a run: `initdb` and migrations take seconds of CPU, and a copy of the data none."""

import fcntl
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tamis_cli.embedded.postgres import Postgres

make_cluster = Postgres._make_cluster


@contextmanager
def copied_clusters(folder: Path) -> Iterator[None]:
    """Let each server of this process begin with a copy of the run's first data folder, kept in `folder`."""

    def make_or_copy(server: Postgres) -> None:
        _kept(folder / "new", server.data, lambda: make_cluster(server))

    Postgres._make_cluster = make_or_copy  # type: ignore[method-assign]
    try:
        yield
    finally:
        Postgres._make_cluster = make_cluster  # type: ignore[method-assign]


def prepare_cluster(server: Postgres, kept: Path, prepare: Callable[[Postgres], None]) -> None:
    """Give a server that was not started yet the data that `prepare` left behind, in this process or in another one."""

    def make() -> None:
        with server:
            prepare(server)

    server.folder.mkdir(parents=True, exist_ok=True)
    _kept(kept, server.data, make)


def _kept(kept: Path, data: Path, make: Callable[[], None]) -> None:
    """Have `make` make the data where nobody has yet, and keep a copy; copy that copy elsewhere."""
    with kept.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not kept.exists():
            make()
            draft = kept.with_suffix(".draft")
            _copy(data, draft)
            draft.rename(kept)
            return
    _copy(kept, data)


def _copy(cluster: Path, place: Path) -> None:
    """With its owner, who is another user than root."""
    subprocess.run(["/bin/cp", "-a", str(cluster), str(place)], check=True)
