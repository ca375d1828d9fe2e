"""The trace context of a batch: in the ledger, and in every message of it."""

import base64
import json
from typing import Any

import redis
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from sqlalchemy import select

from stage import abstracts
from stage.trace_receiver import traced_here
from tamis_producer import Client
from tamis_producer.transport.dispatch import ItemAddress
from tamis_schemas import Filter
from tamis_schemas.batches import wire
from tamis_schemas.ledger import batches

ASKED = Filter(criteria="Is this about oncology?")
LARGEST = 4_000  # bytes of a message


def messages(broker_url: str) -> list[dict[str, Any]]:
    """Those that wait in the queues of items, the last one first."""
    with redis.Redis.from_url(broker_url) as broker:
        found = [text for queue in wire.ITEM_QUEUES for text in broker.lrange(f"{wire.KEY_PREFIX}{queue}", 0, -1)]
    assert all(len(text) < LARGEST for text in found)
    return [json.loads(text) for text in found]


def kept(client: Client, batch_id: object) -> str | None:
    with client.engine.connect() as connection:
        return connection.execute(select(batches.c.traceparent).where(batches.c.id == batch_id)).scalar_one()


def test_every_message_and_the_ledger_name_the_submission(client: Client, broker_url: str) -> None:
    spans = InMemorySpanExporter()
    with traced_here(spans):
        batch = client.submit(ASKED, abstracts(3))
    (submitted,) = spans.get_finished_spans()
    of = submitted.context
    assert of is not None
    traceparent = f"00-{of.trace_id:032x}-{of.span_id:016x}-{of.trace_flags:02x}"
    assert kept(client, batch.id) == traceparent
    found = messages(broker_url)
    assert len(found) == 3
    for message in found:
        assert message["headers"]["traceparent"] == traceparent
        _, _, embedded = json.loads(base64.b64decode(message["body"]))
        assert embedded["chord"]["options"]["headers"] == {"traceparent": traceparent}


def test_a_message_that_is_published_again_continues_the_trace(client: Client, broker_url: str) -> None:
    with traced_here(InMemorySpanExporter()):
        batch = client.submit(ASKED, abstracts(1))
    with redis.Redis.from_url(broker_url) as broker:
        broker.flushall()
    client._dispatcher().republish(batch.id, "filter", [ItemAddress(0, "r0")])
    (message,) = messages(broker_url)
    assert message["headers"]["traceparent"] == kept(client, batch.id)
