"""Two ledgers that differ only in hidden decisions answer a blind reader alike, whatever is asked and decided."""

import json
import re
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import httpx2 as httpx
import pytest
from sqlalchemy import Connection

from stage.gateway import gateway
from stage.hidden_ledgers import (
    AUDITED,
    DECIDES,
    DRAWN,
    ME,
    OTHER,
    PAIR,
    SECOND,
    THIRD,
    WORDS,
    N,
    Twin,
    twin_ledgers,
)
from stage.ledgers import Ledgers
from stage.plain_http import http_client
from stage.screened import CRITERIA
from tamis_producer import Batch, ProducerSettings
from tamis_producer.client.session import Session
from tamis_producer.gateway import api_keys
from tamis_producer.gateway.api_keys import Scope
from tamis_review import overrides, reading, records, remarks
from tamis_review.decisions import stopping
from tamis_review.decisions.visibility import Visibility, visible
from tamis_review.page.record_routes import SENT_AS
from tamis_review.report import table
from tamis_review.report.work_filter import WorkOrder, WorkShow
from tamis_schemas import ScreeningMode, StopAnswer, Stratum

ASKED = {"operation": "inclusion", "criteria": CRITERIA.model_dump(mode="json")}
FILE = {"file": ("records.csv", b"id,title,include\nr0,Title 0,1\nr1,Title 1,0\nr2,Title 2,1\n", "text/csv")}


@dataclass
class Reader:
    """A reader, with a key of the gateway of one of the ledgers."""

    twin: Twin
    http: httpx.Client
    tags: list[str] = field(default_factory=list)

    def told(self, method: str, path: str, **more: Any) -> tuple[Any, ...]:
        """An answer, without ids and times; of events the first."""
        with self.http.stream(method, path, **more) as answer:
            events = "event-stream" in answer.headers.get("content-type", "")
            text = next(answer.iter_text()) if events else answer.read().decode("utf-8", "replace")
        if "metrics" in path:
            text = "\n".join(line for line in text.splitlines() if line.startswith("tamis_batches"))
        headers = [answer.headers.get(name, "") for name in ("link", "location", "content-disposition")]
        if (tag := answer.headers.get("etag", "")) not in self.tags:
            self.tags.append(tag)
        return answer.status_code, self.tags.index(tag), *map(self.twin.plain, (*headers, text))


TEXTS = {
    "label": (*WORDS, "shared"),
    "q": ("title", WORDS[0]),
    "reason": ("Animal studies", "E1"),
    "reviewer": (ME, OTHER),
    "first": (OTHER,),
    "second": (THIRD,),
    "first_said": ("include", "exclude"),
    "second_said": ("include",),
    "format": [form.value for form in SENT_AS],
    "only": ("include", "exclude", "uncertain"),
    "after": ("YWZ0ZXItMw",),
    "prefer": ("respond-async",),
}


def values_of(parameter: dict[str, Any], schemas: dict[str, Any]) -> list[Any]:
    """Every value that a parameter declares; of texts and numbers some."""
    kinds = [kind for kind in parameter["schema"].get("anyOf", [parameter["schema"]]) if kind.get("type") != "null"]
    kind = kinds[0]
    kind = kind.get("items", kind)
    kind = schemas[kind["$ref"].rpartition("/")[-1]] if "$ref" in kind else kind
    match kind:
        case {"enum": values}:
            return list(values)
        case {"const": value}:
            return [value]
        case {"type": "boolean"}:
            return [True, False]
        case {"type": "integer"}:
            return [*{kind.get("minimum", 0), 3}]
        case {"type": "number"}:
            return [0.5, 0.95]
    return list(TEXTS[parameter["name"]])


def body_terms(twin: Twin) -> dict[str, list[dict[str, Any]]]:
    """The bodies to send, by operation; every route with a body has some."""
    examples = {"operation": ASKED | {"examples_from": twin.id_of("main")}}
    judge = {"json": {"operation": {"guidelines": "Only what the record says."}}}
    item = {"items": [{"id": "x", "title": "T"}]}

    def form(**terms: object) -> dict[str, Any]:
        return {"data": {"terms": json.dumps(terms)}, "files": FILE}

    said = [{"index": DRAWN[0], "include": True}]
    return {
        "submit_batch": [{"json": examples | item}],
        "resume_batch": [{}],
        "retry_batch": [{"json": {"kinds": ["refused"]}}],
        "set_priority": [{"json": {"priority": "high"}}],
        "filter_items": [{"json": item | {"criteria": "x"}, "headers": {"Prefer": "respond-async"}}],
        "extract_from_items": [{"json": item | {"prompt": "x"}, "headers": {"Prefer": "respond-async"}}],
        "generate_answer": [{"json": {"instruct": "x"}}],
        "import_decisions": [form(reviewer=ME, dry_run=True, decision_column="include")],
        "override_item": [
            {"json": {"value": "include", **more}}
            for more in ({"settles": True}, {"reviewer": OTHER}, {"stage": "full-text"}, {"stage": "retrieval"})
        ],
        "remark_item": [{"json": {"labels": [word], "remove": remove}} for word in WORDS for remove in (False, True)],
        "submit_file": [form(**examples), form(review="x", **examples)],
        "read_criteria": [{"json": {"text": "research_question: Does it help?"}}],
        "draw_pilot": [{"json": {"n": 5, "seed": 3}}],
        "evaluate_batch": [form()],
        "calibrate_batch": [form()],
        "dry_run": [form(**examples), form(operation=ASKED, updates=twin.id_of("main"))],
        "find_duplicates": [form()],
        "judge_batch": [judge],
        "dry_run_judgement": [judge],
        "set_screening_mode": [{"json": {"mode": twin.mode}}],
        "draw_audit": [{"json": {"n": 2, "seed": 1, "stratum": stratum}} for stratum in Stratum],
        "record_audit_decisions": [{"json": {"decisions": said, **more}} for more in ({}, {"reviewer": OTHER})],
        "draw_stop_sample": [{"json": {"seed": 3}}, {"json": {"audit": twin.id_of("audit")}}],
    }


def questions(
    twin: Twin, described: dict[str, Any], wanted: str, *, whole: bool = True, about: str = ""
) -> Iterator[tuple[str, str, Any]]:
    """Every request that the description declares with this method: each value once, others as by default.

    `whole`: also of the batches made from the first, and not by default alone. `about`: how the routes' paths end.
    """
    schemas, bodies = described["components"]["schemas"], body_terms(twin)
    places = {"main": range(N + 2), "later": range(3)}
    for path, methods in described["paths"].items():
        for method, route in methods.items():
            if method != wanted or not path.endswith(about):
                continue
            sent = bodies[route["operationId"]] if "requestBody" in route else [{}]
            query = [one for one in route.get("parameters", ()) if one["in"] == "query"]
            needed = {one["name"]: values_of(one, schemas)[0] for one in query if one.get("required")}
            asked = [needed, *({**needed, one["name"]: value} for one in query for value in values_of(one, schemas))]
            if not whole:
                asked = [needed]
            if path.endswith("/work"):
                asked += [{"order": order.value, "show": show.value} for order, show in product(WorkOrder, WorkShow)]
            named = ("main", "later", "examples", "updates") if whole and wanted == "get" else ("main",)
            for name in named if "{batch_id}" in path else ("",):
                for index in places.get(name, (0,)) if "{index}" in path and method == "get" else (DECIDES,):
                    ids = {"audit_id": twin.id_of("audit"), "review_id": twin.id_of("review")}
                    ids |= {"batch_id": twin.id_of(name) if name else "", "version": "1", "name": "page.css"}
                    at = path.format(**ids, index=index)
                    for more, params in product(sent, asked if name in ("main", "") else [needed]):
                        yield method.upper(), at, {"params": params, **more}


def differing(first: str, second: str) -> tuple[str, str]:
    """The texts from shortly before the place where they part."""
    at = max(0, next((n for n, (a, b) in enumerate(zip(first, second, strict=False)) if a != b), len(first)) - 90)
    return first[at : at + 150], second[at : at + 150]


def same(
    readers: list[Reader], described: dict[str, Any], wanted: str, *, whole: bool = True, about: str = ""
) -> set[tuple[str, str]]:
    """Ask both ledgers the same; the requests to the first of them."""
    together = [list(questions(reader.twin, described, wanted, whole=whole, about=about)) for reader in readers]
    for both in zip(*together, strict=True):
        first, second = (reader.told(*asked[:2], **asked[2]) for reader, asked in zip(readers, both, strict=True))
        assert first[:-1] == second[:-1], both[0]
        assert first[-1] == second[-1], (both[0], differing(first[-1], second[-1]))
        if first[0] >= 500:
            pytest.fail(f"{both[0]}: {first}")
    return {(method, path) for method, path, _ in together[0]}


@pytest.fixture
def readers(ledgers: Ledgers, settings: ProducerSettings, mode: ScreeningMode) -> Iterator[list[Reader]]:
    with ExitStack() as stack:
        readers = []
        for twin in stack.enter_context(twin_ledgers(ledgers, settings, mode)):
            key = api_keys.create(twin.client.engine, ME, [*Scope])
            twin.names[key.split("_")[1]] = "key"
            base = stack.enter_context(gateway(twin.client, largest_body=100_000))
            readers.append(Reader(twin, stack.enter_context(http_client(base, key))))
        yield readers


LONG = [pytest.param(mode, True, marks=pytest.mark.night) for mode in (PAIR, SECOND, AUDITED)]


@pytest.mark.timeout(1_200)  # of the long form
@pytest.mark.parametrize(("mode", "whole"), [(SECOND, False), *LONG])
def test_every_route_answers_alike_whatever_is_hidden(readers: list[Reader], mode: ScreeningMode, whole: bool) -> None:
    described = readers[0].http.get("/openapi.json").json()
    index = DRAWN[1] if mode is AUDITED else DECIDES
    requests = same(readers, described, "get")
    for value in ("include", None, "exclude"):  # decided, withdrawn, decided again
        answers = []
        for reader in readers:
            at = f"/v1/batches/{reader.twin.id_of('main')}/items/{index}/override"
            body = {} if value is None else {"json": {"value": value}}
            answers.append(reader.told("DELETE" if value is None else "POST", at, **body))
        assert answers[0] == answers[1]
        assert answers[0][0] in (201, 204)
        same(readers, described, "get", whole=whole)
    for method in ("put", "post", "delete"):
        requests |= same(readers, described, method)
    same(readers, described, "get", whole=whole)
    routes = {(method.upper(), path) for path, methods in described["paths"].items() for method in methods}
    patterns = {(method, re.sub(r"\{\w+\}", "[^/]+", path)) for method, path in routes}
    unasked = [
        (method, pattern)
        for method, pattern in patterns
        if not any(method == by and re.fullmatch(pattern, path) for by, path in requests)
    ]
    assert not unasked


def seen_openly(connection: Connection, batch: Batch) -> Visibility:
    """What a reader would see if nothing was hidden in the batch itself."""
    return replace(visible(connection, batch), hidden=frozenset())


def stop_openly(*terms: Any, hidden: object, **more: Any) -> StopAnswer:
    """The stop rule's answer as to somebody who may see all."""
    return stopping.read_stop(*terms, **more)


# What is taken out -> where it is, and the route whose answers then differ.
RULES: dict[str, tuple[object, str, object, str, str]] = {
    "blind readers get no learned order": (Visibility, "blind", False, "get", "/next"),
    "nor on the page": (Visibility, "blind", False, "get", "/work"),
    "the stop rule counts what is open": (reading, "read_stop", stop_openly, "get", "/stop"),
    "reports wait": (Visibility, "check_whole", lambda _: None, "get", "/report"),
    "figures wait": (Visibility, "check_whole", lambda _: None, "get", "/agreement"),
    "failures are compared without decisions": (records, "visible", seen_openly, "get", "/failures"),
    "a later stage is closed": (Visibility, "check_whole", lambda _: None, "get", "/records"),
    "results wait": (Session, "check_whole", lambda *_: None, "get", "/results"),
    "the summary waits": (Session, "check_whole", lambda *_: None, "get", "/summary"),
    "decisions are no examples": (Session, "check_whole", lambda *_: None, "post", "/v1/dry-run"),
    "a record is not explained": (Visibility, "check_record", lambda *_: None, "get", "/explanation"),
    "decisions of others": (Visibility, "overrides", lambda _, decisions: list(decisions), "get", "/overrides"),
    "conflicts": (overrides, "visible", seen_openly, "get", "/conflicts"),
    "labels": (remarks, "visible", seen_openly, "get", "/labels"),
    "rows of the table": (table, "visible", seen_openly, "get", "/records"),
}


@pytest.mark.parametrize("mode", [SECOND])
def test_no_rule_of_visibility_can_be_taken_out_unnoticed(readers: list[Reader]) -> None:
    described, unnoticed = readers[0].http.get("/openapi.json").json(), []
    for rule, (owner, name, instead, method, about) in RULES.items():
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(owner, name, instead)
            try:
                same(readers, described, method, about=about)
            except AssertionError:
                continue
        unnoticed.append(rule)
    assert not unnoticed
