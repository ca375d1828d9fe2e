"""docs/http.md names every route of the gateway with the scope that it asks for, and no other."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute

from tamis_producer import Client, ProducerSettings
from tamis_producer.gateway.api_keys import Scope
from tamis_producer.gateway.app import ROUTERS, create_app
from tamis_review.page.application import Screening

ROOT = Path(__file__).parents[3]
NOWHERE = ProducerSettings(
    broker_url="redis://127.0.0.1:1/0", database_url="postgresql+psycopg://user@127.0.0.1:1/tamis"
)


def scopes_of(route: APIRoute) -> str:
    """The scopes that a route's dependencies, or theirs, were made with."""
    needed = {
        cell.cell_contents
        for dependency in _with_theirs(route.dependant.dependencies)
        for cell in getattr(dependency.call, "__closure__", None) or ()
        if isinstance(cell.cell_contents, Scope)
    }
    return ", ".join(f"`{scope}`" for scope in Scope if scope in needed) or "none"


def _with_theirs(dependencies: Iterable[Dependant]) -> Iterator[Dependant]:
    for dependency in dependencies:
        yield dependency
        yield from _with_theirs(dependency.dependencies)


def test_the_document_names_every_route_and_its_scope() -> None:
    text = (ROOT / "docs" / "http.md").read_text("utf-8")
    told = set(re.findall(r"^\| `([A-Z]+) (/\S*)` \| (`\w+`(?:, `\w+`)*|none) \|", text, re.MULTILINE))
    with Client(NOWHERE) as client:
        app = create_app(client, application=Screening())
    routes = {
        (method, route.path, scopes_of(route))
        for routes in (app.routes, *(router.routes for router in (*ROUTERS, *Screening.routers)))
        for route in routes
        if isinstance(route, APIRoute)
        for method in route.methods
    }
    described = {(method.upper(), path) for path, methods in app.openapi()["paths"].items() for method in methods}
    assert {(method, path) for method, path, _ in routes} == described
    assert told == routes
