"""The notebook of the examples runs from its first cell to its last, as a program and in a kernel."""

import json
import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from stage import House

FOLDER = Path(__file__).parents[3] / "examples" / "notebook"
NOTEBOOK = FOLDER / "screening.ipynb"

# The ordinary way of nbclient, in a process of its own: its warnings are not ours.
IN_A_KERNEL = """
import nbformat
from nbclient import NotebookClient
notebook = nbformat.read("screening.ipynb", as_version=4)
nbformat.validate(notebook)
NotebookClient(notebook, timeout=120).execute()
nbformat.write(notebook, "executed.ipynb")
"""
needs_a_kernel = pytest.mark.skipif(
    not all(map(find_spec, ("nbclient", "ipykernel"))) and not os.environ.get("CI"), reason="no nbclient and ipykernel"
)


def cells() -> list[dict[str, Any]]:
    return [cell for cell in json.loads(NOTEBOOK.read_text("utf-8"))["cells"] if cell["cell_type"] == "code"]


def run(house: House, folder: Path, program: str) -> None:
    """Run it beside a copy of the notebook and its records; what it has left behind is what the notebook leaves."""
    for file in FOLDER.iterdir():
        shutil.copy(file, folder)
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | house.environment | {"IPYTHONDIR": str(folder / "ipython")},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    frame = pd.read_parquet(folder / "results.parquet")
    assert list(frame["item_id"]) == [f"n{number:02d}" for number in range(1, 13)]
    assert (frame.loc[11, "final_value"], frame.loc[11, "reviewer"]) == ("exclude", "Reviewer A")
    assert (folder / "report.html").read_text("utf-8").startswith("<!doctype html>")


def test_what_it_once_said_is_not_kept_with_it() -> None:
    assert len(cells()) >= 5
    assert [(cell["outputs"], cell["execution_count"]) for cell in cells()] == [([], None)] * len(cells())


@pytest.mark.night
def test_its_cells_run_as_a_program(house: House, tmp_path: Path) -> None:
    run(house, tmp_path, "\n".join("".join(cell["source"]) for cell in cells()))


@pytest.mark.night
@needs_a_kernel
def test_it_runs_in_a_kernel(house: House, tmp_path: Path) -> None:
    run(house, tmp_path, IN_A_KERNEL)
    executed = json.loads((tmp_path / "executed.ipynb").read_text("utf-8"))["cells"]
    shown = [cell["outputs"] for cell in executed if cell["cell_type"] == "code"]
    assert all(shown[:-1])  # every cell but the last, which only writes, shows something
