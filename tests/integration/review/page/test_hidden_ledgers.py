"""Two ledgers that differ only in hidden decisions answer a blind reader alike, whatever is asked and decided."""

import json
import re
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import product
from typing import Any
from uuid import UUID

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
from tamis_review import audits, evaluation, imported_decisions, overrides, reading, records, remarks, reports
from tamis_review.decisions.visibility import Visibility, read_visibility
from tamis_review.page.record_routes import SENT_AS
from tamis_review.report import table, team, work_list
from tamis_review.report.work_filter import WorkOrder, WorkShow
from tamis_schemas import ScreeningMode, Stratum

ASKED = {"operation": "inclusion", "criteria": CRITERIA.model_dump(mode="json")}
FILE = {"file": ("records.csv", b"id,title,include\nr0,Title 0,1\nr1,Title 1,0\nr2,Title 2,1\n", "text/csv")}


@dataclass
class Reader:
    """A reader, with a key of the gateway of one of the ledgers."""

    twin: Twin
    http: httpx.Client
    tags: list[str] = field(default_factory=list)

    def told(self, method: str, path: str, more: dict[str, Any]) -> tuple[Any, ...]:
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
    "decision_id": ("7d444840-9dc0-41d1-b245-5ffdce74fad2",),
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
    judge = {"json": {"operation": {"operation": "judge", "guidelines": "Only what the record says."}}}
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
        "decide_copies": [
            {"json": {"index": n, "of": DECIDES, "verdict": verdict}}
            for n in range(N + 2)
            for verdict in ("copies", "different", None)
        ],
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
        "invite_reader": [{"json": {"name": name}} for name in (ME, OTHER, "Reviewer D")],
        "draw_stop_sample": [{"json": {"seed": 3}}, {"json": {"audit": twin.id_of("audit")}}],
    }


def questions(
    twin: Twin, described: dict[str, Any], wanted: str, *, whole: bool
) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Every request that the description declares with this method, as by default.

    `whole`: also with each value of each parameter, others as by default, of each record and of more batches.
    """
    schemas, bodies = described["components"]["schemas"], body_terms(twin)
    places = {"main": range(N + 2), "later": range(3)} if whole else {}
    for path, methods in described["paths"].items():
        for method, route in methods.items():
            if method != wanted:
                continue
            sent = bodies[route["operationId"]] if "requestBody" in route else [{}]
            query = [one for one in route.get("parameters", ()) if one["in"] == "query"]
            needed = {one["name"]: values_of(one, schemas)[0] for one in query if one.get("required")}
            asked = [needed]
            if whole:
                asked += [{**needed, one["name"]: value} for one in query for value in values_of(one, schemas)]
            if path.endswith("/work"):
                pairs = product(WorkOrder, WorkShow) if whole else zip(WorkOrder, [*WorkShow][1:], strict=True)
                asked += [{"order": order.value, "show": show.value} for order, show in pairs]
            named = ("main", "later", "examples", "updates") if whole and wanted == "get" else ("main",)
            for name in named if "{batch_id}" in path else ("",):
                usual = (DECIDES,) if method != "get" else (1,) if name in ("", "main") else (0,)
                for index in places.get(name, usual) if "{index}" in path and method == "get" else usual:
                    ids = {"audit_id": twin.id_of("audit"), "review_id": twin.id_of("review")}
                    ids |= {"batch_id": twin.id_of(name) if name else "", "version": "1", "name": "page.css"}
                    at = path.format(**ids, index=index)
                    for more, params in product(sent, asked if name in ("main", "") else [needed]):
                        yield method.upper(), at, {"params": params, **more}


def differing(first: str, second: str) -> tuple[str, str]:
    """The texts from shortly before the place where they part."""
    at = max(0, next((n for n, (a, b) in enumerate(zip(first, second, strict=False)) if a != b), len(first)) - 90)
    return first[at : at + 150], second[at : at + 150]


def same(readers: list[Reader], described: dict[str, Any], wanted: str, *, whole: bool) -> set[tuple[str, str]]:
    """Ask both ledgers the same; the requests to the first of them."""
    together = [list(questions(reader.twin, described, wanted, whole=whole)) for reader in readers]
    for both in zip(*together, strict=True):
        first, second = (reader.told(*asked) for reader, asked in zip(readers, both, strict=True))
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
    requests = same(readers, described, "get", whole=whole)
    for value in ("include", None, "exclude") if whole else ("include",):  # decided, withdrawn, decided again
        answers = []
        for reader in readers:
            at = f"/v1/batches/{reader.twin.id_of('main')}/items/{index}/override"
            body = {} if value is None else {"json": {"value": value}}
            answers.append(reader.told("DELETE" if value is None else "POST", at, body))
        assert answers[0] == answers[1]
        assert answers[0][0] in (201, 204)
        same(readers, described, "get", whole=whole)
    for method in ("put", "post", "delete"):
        requests |= same(readers, described, method, whole=whole)
    if whole:
        same(readers, described, "get", whole=whole)
    routes = {(method.upper(), path) for path, methods in described["paths"].items() for method in methods}
    patterns = {(method, re.sub(r"\{\w+\}", "[^/]+", path)) for method, path in routes}
    unasked = [
        (method, pattern)
        for method, pattern in patterns
        if not any(method == by and re.fullmatch(pattern, path) for by, path in requests)
    ]
    assert not unasked


def openly(connection: Connection, batch: Batch) -> Visibility:
    """What a program sees, which may see all."""
    return read_visibility(connection, batch.uuid, None)


def program(connection: Connection, batch_id: UUID, _: str) -> Visibility:
    """The same, by a batch's id."""
    return read_visibility(connection, batch_id, None)


def nothing(*_: object, **__: object) -> None:
    """A check that refuses nothing."""


@dataclass(frozen=True)
class Rule:
    """A rule, where it is, what to have in its place, and requests whose answers then differ."""

    owner: object
    name: str
    requests: tuple[str, ...]  # method, path, and a body as JSON
    instead: object = openly
    mode: ScreeningMode = SECOND

    @property
    def reads(self) -> bool:
        """Whether the first request changes nothing."""
        return self.requests[0].startswith("get")


def at_main(*requests: str) -> tuple[str, ...]:
    """Requests about the batch that people read."""
    return tuple("{} /v1/batches/{{main}}/{}".format(*request.split(" ", 1)) for request in requests)


LATER = ("get /v1/batches/{later}/labels", "get /v1/batches/{later}/work?show=all", "get /v1/batches/{later}/records")
CELL = "get agreement/records?among=overrides&first_said=include&second_said=include"
JUDGED = 'post judgement/dry-run {"operation": {"operation": "judge", "guidelines": "x"}}'
FOR_ANOTHER = 'post items/5/override {"value": "include", "reviewer": "Reviewer B"}'
SETTLED = 'post items/3/override {"value": "include", "settles": true}'
DECIDED = 'post items/{}/override {{"value": "include"}}'
RULES: dict[str, Rule] = {
    "blind readers get no learned order": Rule(Visibility, "blind", at_main("get next"), False),
    "nor on the page": Rule(Visibility, "blind", at_main("get work?order=next&show=all"), False),
    "nor the order by disagreement": Rule(Visibility, "blind", at_main("get next?by=disagreement"), False),
    "conflicts of the team": Rule(team, "hidden_from", at_main("get team"), lambda *_: set()),
    "work lists": Rule(work_list, "read_visibility", at_main("get work?show=all"), program),
    "conflicts in work lists": Rule(work_list, "read_visibility", at_main("get work?show=conflicts"), program),
    "rows of the table": Rule(table, "visible", at_main("get records")),
    "one row of the table": Rule(table, "visible", at_main("get records?index=1")),
    "the stop rule counts what is open": Rule(reading, "visible", at_main("get stop")),
    "reports wait": Rule(reports, "visible", at_main("get report?form=json")),
    "reports of a review wait": Rule(reports, "visible", ("get /v1/reviews/{review}/report?form=md",)),
    "reports of an update wait": Rule(reports, "visible", ("get /v1/batches/{updates}/report?form=json",)),
    "agreement waits": Rule(evaluation, "visible", at_main("get agreement")),
    "so do its records": Rule(evaluation, "visible", at_main(CELL)),
    "so do figures of a panel": Rule(evaluation, "visible", at_main("get panel")),
    "failures are compared without decisions": Rule(records, "visible", at_main("get failures")),
    "a record is not explained": Rule(Visibility, "check_record", at_main("get records/1/explanation"), nothing),
    "nor are its examples": Rule(
        Visibility, "check_whole", ("get /v1/batches/{examples}/records/0/explanation",), nothing
    ),
    "a later stage is closed": Rule(Visibility, "check_whole", LATER, nothing),
    "results wait": Rule(Session, "check_whole", at_main("get results"), nothing),
    "exports wait": Rule(Session, "check_whole", at_main("get export?format=csv"), nothing),
    "the summary waits": Rule(Session, "check_whole", at_main("get summary"), nothing),
    "judgements wait": Rule(Session, "check_whole", at_main(JUDGED), nothing),
    "decisions are no examples": Rule(Session, "check_whole", ("post /v1/dry-run FORM",), nothing),
    "labels": Rule(remarks, "visible", at_main("get labels")),
    "remarks of others are not there": Rule(remarks, "visible", at_main('post items/2/remarks {"labels": ["zebra"]}')),
    "decisions of others": Rule(overrides, "visible", at_main("get overrides")),
    "conflicts": Rule(overrides, "visible", at_main("get conflicts")),
    "audits": Rule(Visibility, "check_audits", at_main("get audits"), nothing),
    "an audit": Rule(Visibility, "check_audits", ("get /v1/audits/{audit}",), nothing),
    "no audit is drawn": Rule(audits, "visible", at_main('post audits {"n": 2, "seed": 1}')),
    "no file is imported": Rule(imported_decisions, "visible", at_main("post decisions FORM")),
    "samples count what is open": Rule(reading, "visible", at_main('post stop-samples {"seed": 5}')),
    "no conflict on a hidden record is settled": Rule(
        Visibility,
        "check_decision",
        at_main(SETTLED),
        nothing,
        PAIR,
    ),
    "no copy is named beside a later stage": Rule(
        Visibility, "check_copies", at_main('post copies {"index": 4, "of": 5, "verdict": "copies"}'), nothing
    ),
    "nobody decides for another": Rule(
        Visibility, "check_name", at_main(FOR_ANOTHER, DECIDED.format(5), "get records/5/explanation"), nothing, PAIR
    ),
    "the answer to a decision": Rule(
        Visibility, "overrides", at_main(DECIDED.format(4)), lambda _, made: list(made), PAIR
    ),
    "an audit hides rows": Rule(table, "visible", at_main("get records"), mode=AUDITED),
    "an audit hides explanations": Rule(
        Visibility, "check_record", at_main(f"get records/{DRAWN[1]}/explanation"), nothing, AUDITED
    ),
    "an audit hides its work list": Rule(work_list, "read_visibility", at_main("get work?show=all"), program, AUDITED),
    "judgements of an audit's records": Rule(Visibility, "check_whole", LATER, nothing, AUDITED),
}


def asked_of(twin: Twin, request: str) -> tuple[str, str, dict[str, Any]]:
    """A request: method, path, and what is sent with it."""
    method, path, body = f"{request} ".split(" ", 2)
    ids = {called: name for name, called in twin.names.items()}
    for name in ("main", "later", "examples", "updates", "review", "audit"):
        path, body = path.replace(f"{{{name}}}", ids[name]), body.replace(f"{{{name}}}", ids[name])
    form = {"decisions": "import_decisions"}.get(path.rpartition("/")[2], "dry_run")
    sent = body_terms(twin)[form][0] if body.strip() == "FORM" else {"json": json.loads(body)} if body.strip() else {}
    return method.upper(), path, sent


def alike(readers: list[Reader], requests: tuple[str, ...]) -> bool:
    """Whether both ledgers give the same answers."""
    for request in requests:
        first, second = (reader.told(*asked_of(reader.twin, request)) for reader in readers)
        if first != second:
            return False
    return True


@pytest.mark.night
@pytest.mark.parametrize("mode", [SECOND, PAIR, AUDITED])
def test_no_rule_of_visibility_can_be_taken_out_unnoticed(readers: list[Reader], mode: ScreeningMode) -> None:
    unnoticed = []
    for name, rule in sorted(RULES.items(), key=lambda entry: not entry[1].reads):  # then the ledgers may differ
        if rule.mode is not mode:
            continue
        if rule.reads or rule.instead is nothing:
            assert alike(readers, rule.requests), name
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(rule.owner, rule.name, rule.instead)
            if alike(readers, rule.requests):
                unnoticed.append(name)
    assert not unnoticed
