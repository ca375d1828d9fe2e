"""A program as tutorials show it: a task per record, gevent, the synchronous `openai` client, a chord for the sum.

NAIVE_BROKER=redis://… NAIVE_LLM=http://… celery -A benchmarks.naive_celery worker --pool gevent --concurrency 500
"""

import json
import os
import time
from typing import Any

from celery import Celery, chord
from openai import OpenAI

from .records import records, request_body

app = Celery("naive", broker=os.environ["NAIVE_BROKER"], backend=os.environ["NAIVE_BROKER"])
client = OpenAI(base_url=os.environ["NAIVE_LLM"], api_key="sk-of-the-double")


@app.task  # type: ignore[untyped-decorator]  # Celery has no types
def evaluate(record: dict[str, Any]) -> bool:
    completion = client.chat.completions.create(**request_body(record))
    return bool(json.loads(completion.choices[0].message.content or "")["value"])


@app.task  # type: ignore[untyped-decorator]  # Celery has no types
def summarise(values: list[bool]) -> int:
    return sum(values)


def run(items: int, *, seed: int, timeout: float) -> float:
    """Return the seconds from the first publication to the sum. Raise `celery.exceptions.TimeoutError`."""
    given = records(items, seed=seed)
    started = time.perf_counter()
    chord(evaluate.s(record) for record in given)(summarise.s()).get(timeout=timeout)
    return time.perf_counter() - started
