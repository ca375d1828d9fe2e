"""HEAD is answered wherever GET is, with its headers and without its body."""

from llm_double import Double
from stage import abstracts
from stage.gateway import gateway
from stage.plain_http import http_client
from tamis_producer import Client
from tamis_producer.gateway import api_keys
from tamis_producer.gateway.api_keys import Scope
from tamis_producer.gateway.app import create_app
from tamis_review.page.application import Screening
from tamis_schemas import Filter

OF_THE_ANSWER = ("content-type", "content-disposition", "cache-control", "etag", "location")


def test_head_has_the_status_and_the_headers_of_get_and_ends_where_get_has_no_end(
    client: Client, double: Double
) -> None:
    described = create_app(client, application=Screening()).openapi()
    batch = client.submit(Filter(criteria="Is this about oncology?"), abstracts(1))
    key = api_keys.create(client.engine, "everything", list(Scope))
    named = {
        "batch_id": batch.id,
        "audit_id": batch.id,
        "review_id": batch.id,
        "index": 0,
        "version": "any",
        "name": "main.js",
    }
    paths = [path.format(**named) for path, operations in described["paths"].items() if "get" in operations]
    assert "/v1/events" in paths
    with gateway(client) as base, http_client(base, key) as http:
        for path in paths:
            head = http.head(path)
            assert head.content == b""
            with http.stream("GET", path) as get:
                assert head.status_code == get.status_code, path
                for name in OF_THE_ANSWER:
                    assert head.headers.get(name) == get.headers.get(name), (path, name)
        assert http.head("/v1/batches", headers={"Authorization": "Bearer wrong"}).status_code == 401
