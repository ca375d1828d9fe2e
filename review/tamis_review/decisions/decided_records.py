"""The records of a batch with their decisions, as they are written back for reference managers."""

from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from tamis_producer.submission.spool import Spool
from tamis_schemas import InvalidRequest, ItemResult

from ..plans.decided_record import decision_of, with_decision


@contextmanager
def decided_records(
    batch_id: str, rows: Iterable[ItemResult], only: Collection[str] | None = None
) -> Iterator[Spool[dict[str, Any]]]:
    """Yield each record with its decision, in the order of the rows; they are kept until the end of `with`.

    `only`: those of these decisions, as `decision_of` names them; None: all.

    Raises `InvalidRequest` where there is none.
    """
    with Spool[dict[str, Any]]() as records:
        for row in rows:
            if only is None or decision_of(row) in only:
                record = with_decision(row)
                records.append(record, len(str(record)))
        if not len(records):
            of = "" if only is None else f" whose decision is {' or '.join(only)}"
            raise InvalidRequest(f"batch {batch_id} has no record{of}")
        yield records
