"""Standard output: `-o -` writes there what -o writes in a file, and a reader may stop reading at any line."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from stage.assessed import record, said
from stage.screened import decided, written_batch
from tamis_cli.commands.app import app, load_commands
from tamis_cli.commands.commands import pages
from tamis_producer import Batch, Client, ProducerSettings
from tamis_review import draw_audit
from tamis_review.example import CITATIONS, CRITERIA

load_commands()
NOWHERE = "redis://127.0.0.1:1/0"  # a broker is not asked
LABELS = "id,title,include\nr0,Title 0,1\nr1,Title 1,0\nr2,Title 2,1\n"
# Each command with -o.
WRITERS = (
    "results ID",
    "results ID --format parquet",
    "export ID --format ris",
    "report ID",
    "report ID --format png",
    "next ID",
    "stop ID --draw --seed 1",
    "pilot ID --n 2 --seed 1",
    "audit draw ID --n 2 --seed 1",
    "audit show AUDIT",
    "evaluate ID --labels labels.csv",
    "calibrate ID --labels labels.csv --recall 0.3 --delta 0.9",
    f"duplicates {CITATIONS}",
    f"initial-filter {CITATIONS} --criteria {CRITERIA}",
)


@pytest.fixture
def batch(database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Batch]:
    """A batch with two includes and an exclude, in the ledger of the commands."""
    monkeypatch.setenv("TAMIS_BROKER_URL", NOWHERE)
    monkeypatch.setenv("TAMIS_DATABASE_URL", database_url)
    monkeypatch.chdir(tmp_path)
    Path("labels.csv").write_text(LABELS)
    with Client(ProducerSettings(broker_url=NOWHERE, database_url=database_url)) as client:
        rows = (decided(record(n), said("exclude" if n == 1 else "include"), source=None) for n in range(3))
        yield written_batch(client, list(rows))


def test_every_command_that_writes_a_file_is_among_the_writers() -> None:
    writers = {page.path for page in pages(get_command(app)) if "-o" in page.options}
    assert {path for path in writers if any(line.startswith(f"{path} ") for line in WRITERS)} == writers


@pytest.mark.parametrize("lines", [WRITERS[:4], pytest.param(WRITERS, marks=pytest.mark.night)], ids=["few", "all"])
def test_a_dash_is_standard_output_for_every_command_and_has_only_the_data(
    batch: Batch, lines: tuple[str, ...]
) -> None:
    audit = draw_audit(batch, 1, seed=1)
    for line in lines:
        words = line.replace("ID", batch.id).replace("AUDIT", audit.id).split()
        suffix = ".html" if words[0] in {"evaluate", "report"} else ".csv"
        written = Path(f"written{suffix}")
        to_file, to_dash = (CliRunner().invoke(app, [*words, "-o", name]) for name in (str(written), "-"))
        assert (to_file.exit_code, to_dash.exit_code) == (0, 0), (line, to_file.output, to_dash.output)
        assert _same(to_dash.stdout_bytes) == _same(written.read_bytes()), line
        written.unlink()
    assert not list(Path().glob("*-*"))


def _same(data: bytes) -> bytes:
    """Return the data without times and ids, which differ in each file of an audit or a report."""
    return re.sub(rb"[0-9a-f]{8}-[-0-9a-f]{27}|\d\d:\d\d(:\d\d)?", b"", data)


@pytest.mark.parametrize(
    "command",
    [
        "results ID",
        "status ID",
        *(pytest.param(f"{name} --json", marks=pytest.mark.night) for name in ("results ID", "batches")),
    ],
)
def test_a_command_ends_quietly_if_nobody_reads_its_output(batch: Batch, command: str) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    words = command.replace("ID", batch.id).split()
    done = subprocess.run(
        [sys.executable, "-m", "tamis_cli", *words], stdout=writing, stderr=subprocess.PIPE, timeout=60, check=False
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, b"")
