"""What the service asks; each command prints one JSON document.

python main.py one NUMBER           one item's result
python main.py chain                one item, and then a task of the service with its result
python main.py group N              N items at once
python main.py chord N              N items, and then a task of the service with all results, in order
python main.py batch N              a batch of N items, and a task of the service at its end: the batch's id
python main.py wrong                what comes of a mistake
"""

import json
import sys
from collections.abc import Callable

from celery import chord, group
from service import OURS, collect, evaluate, finished, shelve, submit

WITHIN = 120  # s


def item(number: int) -> dict[str, str]:
    """One of the records that the service holds."""
    return {"id": f"s{number}", "title": f"Sleep and work, part {number}"}


def one(number: int) -> object:
    """Ask about one item, and wait; where it fails, that is an exception here."""
    return evaluate.clone(kwargs={"item": item(number)}).delay().get(timeout=WITHIN)


def chained() -> object:
    """Ask about one item; Tamis sends on what follows, so that names its queue."""
    return (evaluate.clone(args=(item(1),)) | shelve.s("chain").set(queue=OURS)).delay().get(timeout=WITHIN)


def grouped(n: int) -> object:
    """Ask about many items at once."""
    return group(evaluate.clone(kwargs={"item": item(number)}) for number in range(n))().get(timeout=WITHIN)


def with_callback(n: int) -> object:
    """Ask about many items at once, and have the service's own task take up their results."""
    header = [evaluate.clone(kwargs={"item": item(number)}) for number in range(n)]
    return chord(header)(collect.s("chord").set(queue=OURS)).get(timeout=WITHIN)


def batch(n: int) -> object:
    """Submit a batch, and have the service's own task sent at its end; the id is there at once."""
    items = [item(number) for number in range(n)]
    at_the_end = finished.s("batch").set(queue=OURS)
    asked = submit.clone(kwargs={"items": items, "label": "sleep", "on_complete": at_the_end})
    return asked.delay().get(timeout=WITHIN)


def wrong() -> object:
    """What comes of a mistake: an exception of Celery's making, named after the one of Tamis."""
    try:
        return evaluate.clone(kwargs={"item": item(0), "criteria": "Is it about sleep?"}).delay().get(timeout=WITHIN)
    except Exception as error:
        return {"error": type(error).__name__, "message": str(error)}


COMMANDS: dict[str, Callable[..., object]] = {
    "one": one, "chain": chained, "group": grouped, "chord": with_callback, "batch": batch, "wrong": wrong,
}  # fmt: skip

if __name__ == "__main__":
    print(json.dumps(COMMANDS[sys.argv[1]](*map(int, sys.argv[2:]))))  # noqa: T201
