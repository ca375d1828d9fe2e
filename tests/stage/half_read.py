"""A screening of which people have read what the model included, and nothing of what it excluded."""

from collections.abc import Iterable

from tamis_producer import Batch, Client
from tamis_review import decide
from tamis_review.decisions.record_overrides import HumanDecision
from tamis_schemas import Exclusion, InclusionDecision

from .screened import decided, kept_out, written_batch

INCLUDES = frozenset(range(40))  # what people include, whatever the model said


def record(n: int) -> dict[str, object]:
    return {"id": f"r{n}", "title": f"=Title {n}", "abstract": f"Abstract {n}"}


def said(status: str) -> InclusionDecision:
    return InclusionDecision.model_validate({"status": status, "confidence": 0.8, "rationale": "because"})


# 400 records and a copy; of the 400 a rule excluded 30, and the model the others but the first 60.
ROWS = [
    *(decided(record(n), said("include")) for n in range(60)),
    *(decided(record(n), said("exclude")) for n in range(60, 370)),
    *(kept_out(record(n), Exclusion(rule="title_pattern", reason="in rats")) for n in range(370, 400)),
    kept_out(record(400), Exclusion(rule="duplicate", reason="the same DOI", duplicate_of=0)),
]


def read(batch: Batch, places: Iterable[int], reviewer: str = "Reviewer A") -> None:
    values = {True: "include", False: "exclude"}
    decide(batch, [HumanDecision(place, values[place in INCLUDES], reviewer) for place in places])


def half_read(client: Client) -> Batch:
    """The records above, of which the 60 that the model included are read; people include 40 of these."""
    batch = written_batch(client, ROWS)
    read(batch, range(60))
    return batch
