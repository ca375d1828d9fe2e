"""An archive restored as an operator does it: by psql, in the archive's folder."""

import subprocess
from pathlib import Path

from tamis_cli.embedded.postgres import candidates
from tamis_schemas.ledger.pooler import address

WITHIN = 60.0  # seconds


def run_psql(database_url: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run an archive's `restore.sql` by the psql of the server's package; exit code 0: all rows are back."""
    psql = next(path for one in candidates() if (path := one.path.with_name("psql")).exists())
    url = address(database_url).url.set(drivername="postgresql").render_as_string(hide_password=False)
    command = [str(psql), "--no-psqlrc", url, "--file", "restore.sql"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=WITHIN, check=False)


def restore(database_url: str, folder: Path) -> None:
    """Restore an archive."""
    done = run_psql(database_url, folder)
    assert done.returncode == 0, done.stderr
