"""The program of the process that works orders out: a line of JSON for each request, and one for each answer.

The first line names the ledger, because a command line is shown to whoever lists processes.
"""

import json
import os
import sys
from contextlib import suppress
from typing import TextIO
from uuid import UUID

from tamis_producer.ledger import connect
from tamis_producer.ledger.pool_kinds import READING_ORDERS
from tamis_schemas import TamisError

from .order_store import OrderTerms
from .refit import FeatureCache, refit

NICER = 10  # than the process that asks, which answers people


def serve(requests: TextIO, answers: TextIO) -> None:
    """Answer requests in their order, until there are no more."""
    engine = connect(json.loads(requests.readline())["database_url"], READING_ORDERS)
    cache = FeatureCache()
    for line in requests:
        request = json.loads(line)
        try:
            refit(engine, UUID(request["batch_id"]), OrderTerms(request["seed"], request["explore"]), cache)
            error = None
        except TamisError as failed:
            error = [type(failed).__name__, str(failed)]
        except Exception as failed:  # whoever asked is told, and the next request is another one
            error = [type(failed).__name__, "the reading order could not be worked out"]
        answers.write(json.dumps({"error": error}) + "\n")
        answers.flush()
    engine.dispose()


if __name__ == "__main__":
    if hasattr(os, "nice"):
        with suppress(OSError):
            os.nice(NICER)
    serve(sys.stdin, sys.stdout)
