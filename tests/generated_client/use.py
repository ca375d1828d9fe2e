"""What a stranger's program does with a client generated from the description; it knows nothing else of Tamis.

Run where the package `tamis_client` is; prints one JSON object of what it found.
"""

import json
import sys

from tamis_client import AuthenticatedClient
from tamis_client.api.batches import follow_batch, get_batch, get_results, get_summary, list_batches, submit_batch
from tamis_client.api.human_decisions import list_overrides, override_item
from tamis_client.api.overview import get_about
from tamis_client.api.services import filter_items
from tamis_client.models import (
    BatchStatusView,
    Decision,
    Filter,
    FilterRequest,
    ItemResult,
    ItemResultPage,
    Override,
    Problem,
    Submission,
)
from tamis_client.types import UNSET, Unset

ITEMS = [{"id": f"r{n}", "title": f"Trial of treatment {n}"} for n in range(6)]


def main(base_url: str, key: str) -> None:
    client = AuthenticatedClient(base_url=base_url, token=key, raise_on_unexpected_status=True, timeout=60)
    about = get_about.sync(client=client)
    submission = Submission.from_dict(
        {"operation": Filter("filter", "Is this about oncology?").to_dict(), "items": ITEMS, "label": "generated"}
    )
    first = submit_batch.sync_detailed(client=client, body=submission, idempotency_key="once")
    again = submit_batch.sync_detailed(client=client, body=submission, idempotency_key="once")
    assert isinstance(first.parsed, BatchStatusView)
    assert isinstance(again.parsed, BatchStatusView)
    batch_id = first.parsed.batch.id
    follow_batch.sync_detailed(batch_id, client=client)  # its last event is the end
    ended = get_batch.sync(batch_id, client=client)
    assert isinstance(ended, BatchStatusView)
    results: list[ItemResult] = []
    pages = 0
    after: int | Unset = UNSET
    while after is not None:
        page = get_results.sync(batch_id, client=client, limit=4, after=after)
        assert isinstance(page, ItemResultPage)
        results += page.items
        pages, after = pages + 1, page.next_
    decided = override_item.sync(batch_id, 2, client=client, body=Decision(value=True, note="seen"))
    assert isinstance(decided, Override)
    overrides = list_overrides.sync(batch_id, client=client)
    summary = get_summary.sync(batch_id, client=client)
    listed = list_batches.sync(client=client, limit=5)
    unknown = get_batch.sync("00000000", client=client)
    assert isinstance(unknown, Problem)
    filtered = filter_items.sync(
        client=client, body=FilterRequest.from_dict({"items": ITEMS[:2], "criteria": "Is this about oncology?"})
    )
    sys.stdout.write(
        json.dumps(
            {
                "key": about.key.label,
                "same": again.parsed.batch.id == batch_id,
                "replayed": [first.headers.get("Idempotency-Replayed"), again.headers.get("Idempotency-Replayed")],
                "state": ended.batch.state.value,
                "submitted_by": ended.batch.submitted_by,
                "items": [one.item_id for one in results],
                "values": [one.result.value for one in results],
                "override": [decided.index, decided.value, decided.reviewer, decided.note],
                "pages": pages,
                "overrides": len(overrides.items),
                "summed": summary.counts.n_items,
                "listed": batch_id in [one.batch.id for one in listed.items],
                "unknown": [unknown.type_, unknown.status],
                "filtered": [one.item_id for one in filtered.results],
            }
        )
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
