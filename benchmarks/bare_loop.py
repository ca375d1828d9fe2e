"""A program without a task queue: an `asyncio` loop with the `openai` client. Its results are lost when it ends.

python -m benchmarks.bare_loop http://127.0.0.1:8000/v1 --items 5000 --in-flight 500 --warm-up 500
"""

import argparse
import asyncio
import json
import sys
import time
from typing import Any

from openai import AsyncOpenAI

from .records import records, request_body


async def evaluate(client: AsyncOpenAI, record: dict[str, Any], slots: asyncio.Semaphore) -> bool:
    async with slots:
        completion = await client.chat.completions.create(**request_body(record))
    return bool(json.loads(completion.choices[0].message.content or "")["value"])


async def run(base_url: str, items: int, in_flight: int, warm_up: int) -> dict[str, float]:
    slots = asyncio.Semaphore(in_flight)
    warm, given = records(warm_up, seed=2), records(items)
    async with AsyncOpenAI(base_url=base_url, api_key="sk-of-the-double") as client:
        await asyncio.gather(*(evaluate(client, record, slots) for record in warm))
        started, used = time.perf_counter(), time.process_time()
        values = await asyncio.gather(*(evaluate(client, record, slots) for record in given))
        return {"items": len(values), "seconds": time.perf_counter() - started, "cpu": time.process_time() - used}


def main() -> None:
    """Print the number of items, the seconds and the CPU seconds, as JSON."""
    parser = argparse.ArgumentParser(prog="benchmarks.bare_loop", description=__doc__)
    parser.add_argument("base_url")
    for name in ("--items", "--in-flight", "--warm-up"):
        parser.add_argument(name, type=int, required=True)
    given = parser.parse_args()
    measured = asyncio.run(run(given.base_url, given.items, given.in_flight, given.warm_up))
    sys.stdout.write(json.dumps(measured) + "\n")


if __name__ == "__main__":
    main()
