"""No process holds a batch: ten times the items take no more memory to submit and to read."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tamis_producer import ProducerSettings

ROOT = Path(__file__).parents[2]
# Of 2,000 characters each: 2 MB and 20 MB, where a process without items takes 90 MB. What holds a text holds more.
ITEMS, CHARACTERS = (1_000, 10_000), 2_000


def run(settings: ProducerSettings, *arguments: str) -> dict[str, str | int]:
    """What the process says that `python -m benchmarks memory` measures."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.many_items", *arguments],
        cwd=ROOT,
        env={**os.environ, "TAMIS_BROKER_URL": settings.broker, "TAMIS_DATABASE_URL": settings.database},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        check=True,
        timeout=120,
    )
    return json.loads(done.stdout)


@pytest.mark.night
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak of memory is read as Linux tells it")
def test_ten_times_the_items_take_no_more_memory_to_submit_and_to_read(settings: ProducerSettings) -> None:
    submitted = [run(settings, "submit", str(items), str(CHARACTERS)) for items in ITEMS]
    read = [run(settings, "read", str(one["batch"])) for one in submitted]
    assert [one["items"] for one in read] == list(ITEMS)
    for few, many in (submitted, read):
        assert int(many["peak"]) <= 1.2 * int(few["peak"]), (few, many)
