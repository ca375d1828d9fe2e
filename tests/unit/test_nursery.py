"""The nursery has what it is there for: a module that has moved would be imported by each process again, unnoticed."""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from nursery import shared
from nursery.__main__ import IMPORTED
from nursery.nursery import VARIABLE

# As another process of the run does it, whose own environment has come to differ from the nursery's.
ASKING = """
import os, sys
from pathlib import Path
from nursery import shared
print(shared().address, shared().serves(os.environ), flush=True)
with open(1, "wb", closefd=False) as out:
    shared().start("platform", [], env=os.environ, cwd=Path.cwd(), stdout=out, stderr=out).wait(60)
"""


def test_every_module_that_the_nursery_imports_is_there() -> None:
    assert [name for name in IMPORTED if find_spec(name) is None] == []


def test_the_processes_of_a_run_ask_one_nursery() -> None:
    assert (os.environ.get(VARIABLE) is not None) == ("PYTEST_XDIST_WORKER" in os.environ)
    asking = [sys.executable, "-c", ASKING]
    env = {**os.environ, VARIABLE: str(shared().address), "PYTHONPATH": str(Path(__file__).parents[1])}
    said = subprocess.run(asking, env=env, capture_output=True, text=True, check=True, timeout=120).stdout.splitlines()
    assert said[0] == f"{shared().address} False"
    assert sys.platform in said[1].lower()
