"""Messages carry ids: how large one can become does not depend on what is in an item."""

import json

import redis

from stage import abstracts
from tamis_producer import Client
from tamis_producer.submission.bounds import LONGEST_ID
from tamis_schemas import Filter

LARGEST = 4_096  # bytes; seen: 1,546 of an ordinary item, 3,456 of one whose id is as long and as foreign as it can be
QUESTION = Filter(criteria="Is it a trial? MARKER-OF-THE-CRITERIA")


def messages(broker_url: str) -> list[bytes]:
    with redis.Redis.from_url(broker_url) as server:
        lists = [key for key in server.scan_iter("*items.*") if server.type(key) == b"list"]
        return [message for key in lists for message in server.lrange(key, 0, -1)]


def test_a_message_is_small_whatever_the_item(client: Client, broker_url: str) -> None:
    items = [
        *abstracts(3),
        {"id": "🧬" * LONGEST_ID, "text": "MARKER-OF-THE-TEXT " * 40000},
        {"id": '\\"\n\x1b' * (LONGEST_ID // 4), "text": "x"},
    ]
    client.submit(QUESTION, items, label="MARKER-OF-THE-LABEL", idempotency_key="MARKER-OF-THE-KEY")
    sent = messages(broker_url)
    assert len(sent) == len(items)
    assert max(map(len, sent)) <= LARGEST, sorted(map(len, sent))
    assert not any(b"MARKER" in message for message in sent)


def test_no_id_can_begin_a_line_or_steer_a_terminal(client: Client, broker_url: str) -> None:
    client.submit(QUESTION, [{"id": "1\n2026-01-01 [info] batch=0 completed\x1b[2J", "text": "x"}])
    (message,) = messages(broker_url)
    shown = json.loads(message)["headers"]["argsrepr"]
    assert shown.isprintable()
    assert shown.endswith("item=1\ufffd2026-01-01 [info] batch=0 completed\ufffd[2J")
