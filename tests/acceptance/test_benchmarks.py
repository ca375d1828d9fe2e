"""`python -m benchmarks` works, says what its document says, and leaves nothing behind."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from stage import wait_until

pytestmark = pytest.mark.built_from("benchmarks")

ROOT = Path(__file__).parents[2]
TINY = ["--short", "--items", "30", "--processes", "1", "--repetitions", "1"]
DONE_WITHIN = 600.0  # s of each half, at night beside other tests; usual are 60
QUICK = ("submit", "retention")
HALVES = (
    ("limit", "throughput", "submit", "loop", "memory", "disk"),
    ("summary", "tablizer", "service", "scaling", "recovery", "ledger", "retention", "snapshot", "next", "work_list"),
)


def documented() -> dict[str, list[str]]:
    """The columns of each benchmark that its section of the document explains."""
    text = (ROOT / "benchmarks" / "README.md").read_text("utf-8")
    columns = {}
    for section in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        names = section.partition("\n")[0].split(", ")
        columns.update(dict.fromkeys(names, re.findall(r"^- `(.+?)`: ", section, re.MULTILINE)))
    return columns


def environment(folder: Path) -> dict[str, str]:
    """Everything temporary goes into `folder`."""
    return {**os.environ, "TMPDIR": str(folder)}


def processes_in(folder: Path) -> list[psutil.Process]:
    """Those that were started with something in `folder`."""
    return [one for one in psutil.process_iter(["cmdline"]) if str(folder) in " ".join(one.info["cmdline"] or [])]


def test_the_halves_are_all_there_is() -> None:
    assert sorted(name for half in HALVES for name in half) == sorted(documented())


# All of them take as long as a twentieth of the ordinary run, for figures that nobody reads; two go through the same
# parts, options, tables and files.
@pytest.mark.timeout(DONE_WITHIN + 100)
@pytest.mark.parametrize(
    "half",
    [
        pytest.param(QUICK, id="quick ones", marks=pytest.mark.night),
        pytest.param(HALVES[0], id="of parts", marks=pytest.mark.night),
        pytest.param(HALVES[1], id="of the whole", marks=pytest.mark.night),
    ],
)
def test_every_benchmark_runs_and_its_table_has_the_explained_columns(half: tuple[str, ...], tmp_path: Path) -> None:
    figures, page = tmp_path / "figures.json", tmp_path / "page.md"
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", *half, *TINY, "--json", str(figures), "--markdown", str(page)],
        cwd=ROOT,
        env=environment(tmp_path),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=DONE_WITHIN,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(figures.read_text("utf-8"))
    columns = {name: tables[0]["columns"] for name, tables in told["benchmarks"].items()}
    assert sorted(columns) == sorted(half)
    for name, tables in told["benchmarks"].items():
        listed = {column for table in tables for column in table["columns"]}
        assert [column for column in documented()[name] if column not in listed] == []
    for name, tables in told["benchmarks"].items():
        assert tables[0]["rows"], name
        for row in tables[0]["rows"]:
            assert list(row) == columns[name]
    assert {"date", "cores", "python", "packages"} <= set(told["machine"])
    assert page.read_text("utf-8") == done.stdout
    for name, tables in told["benchmarks"].items():
        assert f"## {tables[0]['title']}\n\n| {' | '.join(columns[name])} |\n" in done.stdout
    if "throughput" in half:
        rates = [row["items/s"] for row in told["benchmarks"]["throughput"][0]["rows"]]
        assert all(0 < rate <= 500 for rate in rates)
    assert processes_in(tmp_path) == []
    assert [path for path in tmp_path.iterdir() if path.name.startswith("tamis-bench-")] == []


def test_ctrl_c_ends_a_run_and_everything_that_it_started(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "benchmarks", "summary", "--items", "100000", "--processes", "1"],
        cwd=ROOT,
        env=environment(tmp_path),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as running:
        assert running.stderr is not None
        assert b"delay of the summary" in running.stderr.readline()
        assert processes_in(tmp_path)
        running.send_signal(signal.SIGINT)
        out, _ = running.communicate(timeout=60)
    assert running.returncode == 130
    assert out == b""
    wait_until(lambda: not processes_in(tmp_path), within=10, what="every process is gone")
    assert [path for path in tmp_path.iterdir() if path.name.startswith("tamis-bench-")] == []


def test_a_benchmark_that_does_not_exist_is_refused_with_those_that_do() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", "speed"], cwd=ROOT, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 2
    known = (
        "limit, throughput, submit, loop, memory, disk, summary, tablizer, service, scaling, recovery, ledger, "
        "retention"
    )
    assert f"'speed' is none of {known}" in done.stderr
