"""An endpoint that fails (fault 13): a bounded number of calls, and an error of its kind; never a decision."""

from collections import Counter
from collections.abc import Callable

import pytest

from llm_double import Double, Fault, Kind
from stage import Faults, WorkerProcess, abstracts, reckon
from tamis_producer import Client
from tamis_schemas import ErrorKind, Filter

pytestmark = pytest.mark.chaos

ONCOLOGY = Filter(criteria="Is this about oncology?")
MAX_CALLS = 3
StartWorker = Callable[..., WorkerProcess]

# What befalls every call for the records of these numbers, and what those records end with.
FOR_EVER = {
    3: (Kind.SERVER_ERROR, ErrorKind.SERVER),
    13: (Kind.UNAVAILABLE, ErrorKind.SERVER),
    23: (Kind.BAD_GATEWAY, ErrorKind.SERVER),
    33: (Kind.DROPPED, ErrorKind.CONNECTION),
    43: (Kind.CUT, ErrorKind.CONNECTION),
    53: (Kind.SLOW, ErrorKind.TIMEOUT),
}


def test_what_fails_for_ever_ends_with_its_kind_and_what_fails_now_and_then_is_decided(
    client: Client, start_worker: StartWorker, double: Double, faults: Faults
) -> None:
    lasting = [
        Fault(kind, contains=f"record number {number}.", delay=30.0 if kind is Kind.SLOW else 0.0)
        for number, (kind, _) in FOR_EVER.items()
    ]
    passing = [Fault(kind, probability=0.05, seed=place) for place, (kind, _) in enumerate(FOR_EVER.values())]
    passing = [fault for fault in passing if fault.kind is not Kind.SLOW]
    double.script(faults=[*lasting, *passing])
    start_worker(max_calls=str(MAX_CALLS), call_timeout="1", concurrency="50")
    batch = client.submit(ONCOLOGY, abstracts(200), shard_size=100)
    counts = batch.wait(timeout=120)
    ended = {number: row.error_kind for number, row in enumerate(batch.results()) if row.error_kind is not None}
    for number, (_, kind) in FOR_EVER.items():
        assert ended.pop(number) is kind
    assert set(ended.values()) <= {ErrorKind.SERVER, ErrorKind.CONNECTION}  # three times in a row by chance
    assert len(ended) <= 10
    asked = Counter(call.prompt for call in double.calls())
    assert max(asked.values()) <= MAX_CALLS
    reckoning = reckon(client, batch, double, failed=counts.failed)
    faults.record(row=13, reckoning=reckoning, faults=double.count() - double.count(200))
