"""A process whose memory is measured. It submits a batch of many items, or reads a batch, and prints time and memory.

`python -m benchmarks.many_items submit COUNT CHARACTERS` or `... read BATCH`. `TAMIS_*` variables name the servers.
"""

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tamis_producer import Client
from tamis_schemas import Filter

QUESTION = Filter(criteria="Does the record report a randomised trial?")
SMALL, REALISTIC = 20, 1_500  # characters of an abstract
WORDS = " ".join(
    f"trial {n} of a drug in {n * 7919 % 1000} adults, blinded and placebo controlled;" for n in range(400)
)


def items(count: int, characters: int) -> Iterator[dict[str, Any]]:
    """Yield `count` different items, with abstracts of so many characters."""
    for number in range(count):
        start = number * 31 % (len(WORDS) - characters)
        yield {
            "id": f"rec-{number}",
            "title": f"Sieves, part {number}",
            "abstract": f"{number} {WORDS[start : start + characters]}",
        }


def peak_memory(pid: int | str = "self") -> int:
    """Return the most resident bytes that a process has had since the start of its program."""
    status = Path(f"/proc/{pid}/status").read_text("utf-8")
    line = next(line for line in status.splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) * 1024


def main(what: str, *given: str) -> None:
    """Submit or read, and print a JSON object: the batch, the items, the seconds and the peak of memory in bytes."""
    started = time.perf_counter()
    with Client() as client:
        if what == "submit":
            batch = client.submit(QUESTION, items(int(given[0]), int(given[1])))
            count = int(given[0])
        else:
            batch = client.batch(given[0])
            count = sum(1 for _ in batch.results())
        seconds = time.perf_counter() - started
    told = {"batch": batch.id, "items": count, "seconds": seconds, "peak": peak_memory()}
    sys.stdout.write(json.dumps(told) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
