"""docs/http.md names every route of the gateway with the scope that it asks for, and no other."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute

from tamis_producer import Client, ProducerSettings
from tamis_producer.gateway import (
    batches,
    explanations,
    files,
    mode_routes,
    next_route,
    override_routes,
    overview,
    page,
    records,
    remark_routes,
    review_routes,
    services,
    stop_routes,
    work_route,
)
from tamis_producer.gateway.api_keys import Scope
from tamis_producer.gateway.app import create_app

ROOT = Path(__file__).parents[3]
NOWHERE = ProducerSettings(
    broker_url="redis://127.0.0.1:1/0", database_url="postgresql+psycopg://user@127.0.0.1:1/tamis"
)


def scope_of(route: APIRoute) -> str:
    """The scope that one of a route's dependencies, or one of theirs, was made with."""
    for dependency in _with_theirs(route.dependant.dependencies):
        for cell in getattr(dependency.call, "__closure__", None) or ():
            if isinstance(cell.cell_contents, Scope):
                return f"`{cell.cell_contents}`"
    return "none"


def _with_theirs(dependencies: Iterable[Dependant]) -> Iterator[Dependant]:
    for dependency in dependencies:
        yield dependency
        yield from _with_theirs(dependency.dependencies)


def test_the_document_names_every_route_and_its_scope() -> None:
    text = (ROOT / "docs" / "http.md").read_text("utf-8")
    told = set(re.findall(r"^\| `([A-Z]+) (/\S*)` \| (`\w+`|none) \|", text, re.MULTILINE))
    with Client(NOWHERE) as client:
        app = create_app(client)
    routers = [
        one.router
        for one in (
            *(batches, explanations, files, mode_routes, next_route, override_routes, overview),
            *(page, records, remark_routes, review_routes, services, stop_routes, work_route),
        )
    ]
    routes = {
        (method, route.path, scope_of(route))
        for routes in (app.routes, *(router.routes for router in routers))
        for route in routes
        if isinstance(route, APIRoute)
        for method in route.methods
    }
    described = {(method.upper(), path) for path, methods in app.openapi()["paths"].items() for method in methods}
    assert {(method, path) for method, path, _ in routes} == described
    assert told == routes
