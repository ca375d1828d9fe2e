"""A text that Postgres cannot store is the caller's error, whichever route it comes by."""

import json
from collections.abc import Iterator
from typing import Any

from stage import abstracts
from stage.gateway import gateway
from stage.plain_http import http_client
from tamis_producer import Client
from tamis_producer.gateway import api_keys
from tamis_producer.gateway.api_keys import Scope
from tamis_producer.gateway.app import create_app
from tamis_review.page.application import Screening
from tamis_schemas import Filter

NUL, HALF = "a\x00b", "a\ud800b"
JSON = {"Content-Type": "application/json"}
STREAM = "/v1/events"  # has no end


def spoiled(body: Any) -> Iterator[Any]:
    """The body with one of its texts spoiled, for each of them."""
    if isinstance(body, str):
        yield from (NUL, HALF)
    elif isinstance(body, dict):
        yield from ({**body, name: worse} for name, value in body.items() for worse in spoiled(value))
    elif isinstance(body, list):
        yield from ([*body[:n], worse, *body[n + 1 :]] for n, value in enumerate(body) for worse in spoiled(value))


def test_a_character_that_the_ledger_cannot_store_is_never_a_fault_of_the_server(client: Client) -> None:
    described = create_app(client, application=Screening()).openapi()
    batch = client.submit(Filter(criteria="Is this about oncology?"), abstracts(1))
    key = api_keys.create(client.engine, "everything", list(Scope))
    sent, failed = 0, []
    with gateway(client) as base, http_client(base, key) as http:
        for path, operations in described["paths"].items():
            at = path.format(batch_id=batch.id, audit_id=batch.id, review_id=batch.id, index=0, version="a", name="b")
            for method, operation in operations.items():
                texts = [
                    one["name"]
                    for one in operation.get("parameters", ())
                    if one["in"] == "query" and "string" in str(one["schema"])
                ]
                of_body = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
                named = str(of_body.get("schema", {}).get("$ref", "")).rpartition("/")[2]
                schema = described["components"]["schemas"].get(named, {})
                requests: list[dict[str, Any]] = [{"params": {name: NUL}} for name in texts]
                for example in schema.get("examples", ()):
                    more = {name: "a" for name, of in schema["properties"].items() if "string" in str(of)}
                    bodies = [*spoiled(example), *({**example, name: worse} for name in more for worse in (NUL, HALF))]
                    requests += [{"content": json.dumps(body), "headers": JSON} for body in bodies]
                for more in requests if path != STREAM else ():
                    with http.stream(method, at, **more) as answer:
                        sent += 1
                        if answer.status_code >= 500:
                            failed.append((method, path, more, answer.read()))
    assert sent > 100
    assert failed == []
