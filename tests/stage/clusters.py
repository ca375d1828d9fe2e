"""Clusters of Postgres made once a process: `initdb` takes most of a second of CPU, and a copy of what it made none."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tamis_worker.embedded.postgres import Postgres

make_cluster = Postgres._make_cluster


@contextmanager
def copied_clusters(folder: Path) -> Iterator[None]:
    """Let each server of this process begin with a copy of the first one's data folder, kept in `folder`."""
    kept = folder / "data"

    def make_or_copy(server: Postgres) -> None:
        if not kept.exists():
            make_cluster(server)
            _copy(server.data, kept)
        else:
            _copy(kept, server.data)

    Postgres._make_cluster = make_or_copy  # type: ignore[method-assign]
    try:
        yield
    finally:
        Postgres._make_cluster = make_cluster  # type: ignore[method-assign]


def _copy(cluster: Path, place: Path) -> None:
    """With its owner, who is another user than root."""
    subprocess.run(["/bin/cp", "-a", str(cluster), str(place)], check=True)
