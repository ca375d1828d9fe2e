"""Problems advise a program in HTTP's terms: routes, not commands."""

import re
from pathlib import Path

import pytest

from tamis_producer.gateway.advice import ROUTES, over_http
from tamis_producer.gateway.app import ROUTERS
from tamis_review.page.application import Screening

ROOT = Path(__file__).parents[4]
# Only an operator does this, on the machine; the rest of these is no advice in a problem.
OPERATORS = {"migrate", "doctor", "keys", "up", "worker", "purge", "webhooks", "unblock", "serve", "--version"}


@pytest.mark.parametrize(
    ("message", "advice"),
    [
        ("no batch '31': `tamis batches` lists them", "no batch '31': `GET /v1/batches` lists them"),
        ("see `tamis batches --json`", "see `GET /v1/batches`"),
        ("`tamis audit list ID` lists them", "`GET /v1/batches/{batch_id}/audits` lists them"),
        ("`tamis status 3f2a-91c0 --watch` follows it", "`GET /v1/batches/3f2a-91c0` follows it"),
        ("`tamis retry 3f2a --max-cost AMOUNT`", "`POST /v1/batches/3f2a/retry` with `max_cost`"),
        ("`tamis stop 3f2a --draw` draws one", "`POST /v1/batches/3f2a/stop-samples` draws one"),
        ("`tamis stop BATCH --close`", "`POST /v1/batches/{batch_id}/stop-samples/close`"),
        ("`tamis blind 3f2a off`", "`PUT /v1/batches/3f2a/mode`"),
        ("only `tamis filter` and `tamis screen` decide", "only `filter` and `inclusion` decide"),
        ("run `tamis migrate` once", "run `tamis migrate` once"),
    ],
)
def test_a_command_becomes_the_route_that_does_the_same(message: str, advice: str) -> None:
    assert over_http(message) == advice


def test_every_command_that_a_message_names_has_a_route_or_is_an_operators() -> None:
    named = {
        command
        for package in ("schemas", "producer", "review")
        for path in (ROOT / package).rglob("*.py")
        for command in re.findall(r"`tamis ((?:audit |review )?[a-z-]+)", path.read_text("utf-8"))
    }
    ids = "0123"
    left = {command for command in named if over_http(f"`tamis {command} {ids}`").startswith("`tamis ")}
    assert {command.split()[0] for command in left} - OPERATORS == set()


def test_every_advised_route_exists() -> None:
    routers = (*ROUTERS, *Screening.routers)
    there = {
        re.sub(r"\{\w+\}", "{}", f"{method} {route.path}")  # type: ignore[attr-defined]  # all are routes of FastAPI
        for router in routers
        for route in router.routes
        for method in route.methods  # type: ignore[attr-defined]
    }
    assert {re.sub(r"\{\w+\}", "{}", route) for route in ROUTES.values() if " " in route} - there == set()
