"""What docs/python.md shows is run as it stands there."""

import os
import subprocess
import sys
from ast import literal_eval
from pathlib import Path

import pytest

from stage import House

DOCUMENT = Path(__file__).parents[3] / "docs" / "python.md"
RECORDS = "TY  - JOUR\nID  - r1\nTI  - One\nER  - \nTY  - JOUR\nID  - r2\nTI  - Two\nER  - \n"


@pytest.mark.built_from("docs/python.md", "producer/tamis_producer/client")
def test_every_example_runs(house: House, tmp_path: Path) -> None:
    (tmp_path / "records.ris").write_text(RECORDS)
    blocks = [block.split("```")[0] for block in DOCUMENT.read_text("utf-8").split("```python\n")[1:]]
    said = []
    for block in blocks:
        ended = subprocess.run(
            [sys.executable, "-W", "error", "-c", block],
            env=os.environ | house.environment,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert ended.returncode == 0, ended.stderr
        assert not ended.stderr
        said.append(ended.stdout.splitlines())
    script, frame, service, quality = said
    assert "n_items=2" in script[0]
    assert [line.split()[0] for line in script[1:3]] == ["r1", "r2"]
    assert "total=2" in script[3]
    assert [item_id for item_id, value in literal_eval(frame[0]) if value in (True, False)] == ["1", "3"]
    assert frame[1].split()[0] == "Boolean"
    assert [line.split()[0] for line in service] == ["1", "1"]
    assert 0 <= float(quality[0].split()[0]) <= 1
    assert "not a random sample of the batch" in quality[1]
    assert "20 drawn at random" in quality[2] or "20 were drawn at random" in quality[2]
    assert quality[3] == "200 records reported"
    assert (tmp_path / "report.html").read_text("utf-8").startswith("<!doctype html>")
    (control,) = [view for view in house.client.batches() if view.label == "control"]
    assert control.state == "cancelled"
