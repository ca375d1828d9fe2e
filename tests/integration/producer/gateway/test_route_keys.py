"""Every route with a key that has its scope, with one that has all others, and without one."""

from collections.abc import Iterable, Iterator

from starlette.routing import BaseRoute, Route

from stage import abstracts
from stage.gateway import gateway
from stage.plain_http import http_client
from tamis_producer import Client
from tamis_producer.gateway import api_keys
from tamis_producer.gateway.api_keys import Scope
from tamis_producer.gateway.app import create_app
from tamis_review.page.application import Screening
from tamis_schemas import Filter

# What a key needs; None: whoever reaches the gateway may ask.
NEEDED: dict[tuple[str, str], Scope | tuple[Scope, ...] | None] = {
    ("GET", "/"): None,
    ("GET", "/assets/{version}/{name}"): None,
    ("GET", "/healthz"): None,
    ("GET", "/metrics"): None,
    ("GET", "/openapi.json"): None,
    ("GET", "/readyz"): None,
    ("GET", "/v1/about"): Scope.READ,
    ("GET", "/v1/batches"): Scope.READ,
    ("GET", "/v1/batches/{batch_id}"): Scope.READ,
    ("GET", "/v1/batches/{batch_id}/events"): Scope.READ,
    ("GET", "/v1/batches/{batch_id}/mode"): Scope.READ,
    ("PUT", "/v1/batches/{batch_id}/mode"): Scope.CONTROL,
    ("GET", "/v1/batches/{batch_id}/next"): Scope.READ,
    ("GET", "/v1/batches/{batch_id}/overrides"): Scope.READ,
    ("GET", "/v1/batches/{batch_id}/records"): Scope.READ,
    ("GET", "/v1/batches/{batch_id}/records/{index}/explanation"): Scope.READ,
    ("GET", "/v1/batches/{batch_id}/report"): Scope.READ,
    ("GET", "/v1/batches/{batch_id}/results"): Scope.READ,
    ("GET", "/v1/batches/{batch_id}/summary"): Scope.READ,
    ("GET", "/v1/batches/{batch_id}/conflicts"): Scope.READ,
    ("GET", "/v1/batches/{batch_id}/copies"): Scope.READ,
    ("GET", "/v1/batches/{batch_id}/labels"): Scope.READ,
    ("GET", "/v1/batches/{batch_id}/stop"): Scope.READ,
    ("GET", "/v1/batches/{batch_id}/agreement"): Scope.READ,
    ("GET", "/v1/batches/{batch_id}/agreement/records"): Scope.READ,
    ("GET", "/v1/batches/{batch_id}/failures"): Scope.READ,
    ("GET", "/v1/batches/{batch_id}/panel"): Scope.READ,
    ("GET", "/v1/batches/{batch_id}/audits"): Scope.READ,
    ("GET", "/v1/audits/{audit_id}"): Scope.READ,
    ("POST", "/v1/batches/{batch_id}/pilots"): Scope.READ,
    ("POST", "/v1/batches/{batch_id}/evaluation"): Scope.READ,
    ("POST", "/v1/batches/{batch_id}/calibration"): Scope.READ,
    ("GET", "/v1/batches/{batch_id}/export"): Scope.READ,
    ("GET", "/v1/batches/{batch_id}/work"): Scope.READ,
    ("GET", "/v1/batches/{batch_id}/team"): Scope.READ,
    ("POST", "/v1/readers"): (Scope.CONTROL, Scope.READ, Scope.DECIDE),
    ("GET", "/v1/events"): Scope.READ,
    ("GET", "/v1/reviews"): Scope.READ,
    ("GET", "/v1/reviews/{review_id}"): Scope.READ,
    ("GET", "/v1/reviews/{review_id}/report"): Scope.READ,
    ("GET", "/v1/service-traffic"): Scope.READ,
    ("POST", "/api/lab/generate-answer"): Scope.SUBMIT,
    ("POST", "/api/tablizer/extract"): Scope.SUBMIT,
    ("POST", "/api/tablizer/filter"): Scope.SUBMIT,
    ("POST", "/v1/batches"): Scope.SUBMIT,
    ("POST", "/v1/batches/{batch_id}/judgement"): (Scope.SUBMIT, Scope.READ),
    ("POST", "/v1/batches/{batch_id}/judgement/dry-run"): (Scope.SUBMIT, Scope.READ),
    ("POST", "/v1/criteria"): Scope.SUBMIT,
    ("POST", "/v1/dry-run"): Scope.SUBMIT,
    ("POST", "/v1/duplicates"): Scope.SUBMIT,
    ("POST", "/v1/files"): Scope.SUBMIT,
    ("POST", "/v1/batches/{batch_id}/cancel"): Scope.CONTROL,
    ("POST", "/v1/batches/{batch_id}/pause"): Scope.CONTROL,
    ("POST", "/v1/batches/{batch_id}/resume"): Scope.CONTROL,
    ("POST", "/v1/batches/{batch_id}/retry"): Scope.CONTROL,
    ("PUT", "/v1/batches/{batch_id}/priority"): Scope.CONTROL,
    ("POST", "/v1/batches/{batch_id}/items/{index}/override"): Scope.DECIDE,
    ("DELETE", "/v1/batches/{batch_id}/items/{index}/override"): Scope.DECIDE,
    ("POST", "/v1/batches/{batch_id}/items/{index}/remarks"): Scope.DECIDE,
    ("POST", "/v1/batches/{batch_id}/copies"): Scope.DECIDE,
    ("POST", "/v1/batches/{batch_id}/decisions"): Scope.DECIDE,
    ("POST", "/v1/batches/{batch_id}/audits"): Scope.DECIDE,
    ("POST", "/v1/audits/{audit_id}/decisions"): Scope.DECIDE,
    ("POST", "/v1/batches/{batch_id}/stop-samples"): Scope.DECIDE,
    ("POST", "/v1/batches/{batch_id}/stop-samples/close"): Scope.DECIDE,
}


def routes_of(routes: Iterable[BaseRoute]) -> Iterator[tuple[str, str]]:
    """Every method and path, of included routers too."""
    for route in routes:
        if isinstance(route, Route):
            yield from ((method, route.path) for method in route.methods or () if method != "HEAD")
        else:
            yield from routes_of(route.original_router.routes)  # type: ignore[attr-defined]  # FastAPI's own kind


def scopes(needed: Scope | tuple[Scope, ...] | None) -> tuple[Scope, ...]:
    return (needed,) if isinstance(needed, Scope) else needed or ()


def test_every_route_asks_for_the_scope_that_it_needs_and_no_other(client: Client) -> None:
    assert set(routes_of(create_app(client, application=Screening()).routes)) == NEEDED.keys()
    batch = client.submit(Filter(criteria="Is this about oncology?"), abstracts(1))
    keys = {needed: api_keys.create(client.engine, "exact", scopes(needed)) for needed in {*NEEDED.values()} - {None}}
    lacking = {scope: api_keys.create(client.engine, "others", {*Scope} - {scope}) for scope in Scope}
    got: dict[tuple[str, str], tuple[int, list[int], int]] = {}
    with gateway(client) as base, http_client(base) as http:

        def asked(method: str, path: str, key: str | None) -> int:
            named = {"batch_id": batch.id, "audit_id": batch.id, "review_id": batch.id}
            at = path.format(**named, index=0, version="any", name="main.js")
            headers = {} if key is None else {"Authorization": f"Bearer {key}"}
            body = b"{}" if method in {"POST", "PUT"} else None
            with http.stream(method, at, headers=headers, content=body) as answer:  # streams of events have no end
                return answer.status_code

        for (method, path), needed in NEEDED.items():
            right = None if needed is None else keys[needed]
            wrong = [asked(method, path, lacking[scope]) for scope in scopes(needed)]
            got[method, path] = asked(method, path, right), wrong, asked(method, path, None)
    for (method, path), needed in NEEDED.items():
        right_key, wrong_keys, no_key = got[method, path]
        assert right_key < 500, (method, path)
        assert right_key not in (401, 403), (method, path)
        assert set(wrong_keys) <= {403}, (method, path)
        assert no_key == 401 or needed is None, (method, path)
