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
from sqlalchemy import Connection, insert, update

from stage.gateway import gateway
from stage.gateway_page import decision, record
from stage.kept import finish
from stage.ledgers import Ledgers
from stage.panelled import MODELS, PANELLED
from stage.plain_http import http_client
from stage.screened import CRITERIA, SCREENING, Ledgered, Place, decided, failed, kept_out, write_batch, write_review
from tamis_producer import Batch, Client, ProducerSettings
from tamis_producer.client.session import Session
from tamis_producer.gateway import api_keys
from tamis_producer.gateway.api_keys import Scope
from tamis_review import (
    close_stop_sample,
    draw_audit,
    draw_stop_sample,
    next_records,
    override,
    overrides,
    reading,
    record_audit,
    records,
    remark,
    remarks,
    set_screening_mode,
)
from tamis_review.decisions import stopping
from tamis_review.decisions.audits import AuditDecision
from tamis_review.decisions.visibility import Visibility, visible
from tamis_review.page.record_routes import SENT_AS
from tamis_review.report import table
from tamis_review.report.work_filter import WorkOrder, WorkShow
from tamis_schemas import Exclusion, Inclusion, ItemStatus, Judge, PanelResult, ScreeningMode, StopAnswer, Stratum
from tamis_schemas.answers.transcript import TranscribedCall, TranscribedMessage
from tamis_schemas.ledger import batches, transcripts
from tamis_schemas.operations.criteria import WorkedExample
from tamis_schemas.records.random_order import sample

PAIR, SECOND, AUDITED = ScreeningMode.PAIR, ScreeningMode.MODEL_SECOND, ScreeningMode.MODEL_AUDITED
ME, OTHER, THIRD = "Reviewer A", "Reviewer B", "Reviewer C"
WORDS = ("zebra", "xylophone")  # of the one ledger, and of the other
N = 8  # records that the model decided; one more failed, and one was excluded by a rule
DRAWN = sample(range(N), 4, seed=7)
DECIDES = 5  # the record that the reader decides; of an audit, one that is drawn
OPEN = {PAIR: {0}, SECOND: {0, DECIDES}, AUDITED: {*range(N)} - {*DRAWN[1:]}}  # records that never differ
ASKED = {"operation": "inclusion", "criteria": CRITERIA.model_dump(mode="json")}
FILE = {"file": ("records.csv", b"id,title,include\nr0,Title 0,1\nr1,Title 1,0\nr2,Title 2,1\n", "text/csv")}


def rows(mode: ScreeningMode, twin: int) -> Iterator[Ledgered]:
    """The records, with what the model said of them in this twin of the ledger."""
    for n in range(N):
        other = 0 if n in OPEN[mode] else twin
        status = "exclude" if mode is AUDITED or (n + other) % 2 else "include"
        because = {"exclusion_reason": ("Animal studies", "not met: Adults")[other]} if status == "exclude" else {}
        said = decision(status, (0.9, 0.6)[other], rationale=WORDS[other], flagged=bool(other), **because)
        verdicts = [{"model": model, "status": status, "confidence": 0.9} for model in MODELS]
        verdicts[1] |= {"status": "include" if other else status}
        panel = PanelResult.model_validate(
            {"policy": "any", "verdicts": verdicts, "score": 0.5, "disagreement": float(other)}
        )
        one = decided(record(n), said, probability=(0.8, 0.3)[other])
        yield replace(one, detail=(one.detail or {}) | {"panel": panel.model_dump(mode="json")})
    yield failed(record(N), "timeout")
    yield kept_out(record(N + 1), Exclusion(rule="date_range", reason="of 1990", confidence=1))


@dataclass
class Twin:
    """One of the ledgers, as its reader sees it."""

    client: Client
    mode: ScreeningMode
    names: dict[str, str] = field(default_factory=dict)  # id -> what to call it
    tags: list[str] = field(default_factory=list)
    http: httpx.Client = field(init=False)

    def id_of(self, name: str) -> str:
        return next(one for one, called in self.names.items() if called == name)

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
        return answer.status_code, self.tags.index(tag), *map(self._plain, (*headers, text))

    def _plain(self, text: str) -> str:
        for one, called in self.names.items():
            text = text.replace(one, called).replace(one[:8], called)
        text = re.sub(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "an id", text)
        text = re.sub(r'(?<="elapsed_seconds":)[\d.]+', "n", text)
        return re.sub(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?)?( UTC|Z|\+00:00)?", "a time", text)


def write(client: Client, mode: ScreeningMode, twin: int) -> Twin:
    """A ledger of a review that people read blind, with batches that were made from it."""
    words, values = WORDS[twin], [("include", "exclude"), ("exclude", "include")][twin]
    passed = (1, 2, 3) if twin else (4, 6, 7)
    judges = mode is AUDITED
    with client.engine.begin() as connection:
        review = write_review(connection, "walking", PANELLED, Judge(guidelines="x") if judges else SCREENING)
        main = write_batch(connection, rows(mode, twin), operation=PANELLED, place=Place(review, 0))
        finish(connection, main, N + 2, passed=3 + twin, of=N)
    texts: list[dict[str, Any]] = [
        {"id": f"r{n}", "title": f"Title {n}", "value": "exclude", "confidence": 0.9, "reasoning": words}
        for n in (DRAWN[1:] if judges else passed)
    ]
    with client.engine.begin() as connection:  # each is a moment later than the one before
        later = write_batch(
            connection,
            [Ledgered(one, ItemStatus.PENDING, origin=int(one["id"][1:])) for one in texts],
            operation=Judge(guidelines="x") if judges else SCREENING,
            place=Place(review, 1),
            state="running",
        )
    with client.engine.begin() as connection:
        told = [WorkedExample(title="Title 1", decision=value, reason=words) for value in values]  # type: ignore[arg-type]
        taught = Inclusion(criteria=CRITERIA.model_copy(update={"examples": told}), examples_from=str(main))
        examples = write_batch(connection, [decided(record(20), decision())], operation=taught)
        call = TranscribedCall(
            question=1, name="x", at_ms=1, messages=(TranscribedMessage(role="user", content=f"{values} {words}"),)
        )
        key = {"batch_id": examples, "idx": 0, "fence": 1, "round": 1}
        connection.execute(insert(transcripts).values(**key, calls=[call.model_dump(mode="json")]))
    with client.engine.begin() as connection:
        updates = write_batch(connection, [decided(record(30), decision())])
        connection.execute(update(batches).where(batches.c.id == updates).values(updates=main))
    named = {"main": main, "later": later, "examples": examples, "updates": updates, "review": review}
    names = {str(made): name for name, made in named.items()}
    batch = client.batch(str(main))
    audit = draw_audit(batch, 4, seed=7, stratum=Stratum.MODEL)
    draw_stop_sample(batch, seed=3)
    if mode is SECOND:  # else its order, which is random, would be that of the work list
        close_stop_sample(batch)
    decide(batch, mode, twin)
    record_audit(client, audit.id, [AuditDecision(audit.items[0].index, include=False, reviewer=ME)])
    next_records(batch)  # as somebody at a terminal does, so that there is an order
    set_screening_mode(batch, mode, set_by="Lead")
    return Twin(client, mode, names | {audit.id: "audit"})


def decide(batch: Batch, mode: ScreeningMode, twin: int) -> None:
    """What people said: of an open record the same in both ledgers, of hidden ones not."""
    if mode is not AUDITED:
        override(batch, 0, "include", reviewer=ME)
        override(batch, 0, "exclude", reviewer=OTHER)
    hidden = [n for n in (*DRAWN[1:], 1, 2, 3, 6) if n not in OPEN[mode] and n != DECIDES]
    for n in hidden:
        override(batch, n, ("include", "exclude")[(n + twin) % 2], reviewer=OTHER, note=WORDS[twin])
        remark(batch, [n], labels=[WORDS[twin]], notes=[f"{WORDS[twin]}s"], reviewer=OTHER)
        if mode is SECOND and n < 3:
            override(batch, n, "include", reviewer=THIRD)
    if mode is not AUDITED:
        override(batch, N + 1, ("include", "exclude")[twin], reviewer=OTHER, note=WORDS[twin])
    remark(batch, [0], labels=["shared"], reviewer=OTHER)


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
    twins: list[Twin], described: dict[str, Any], wanted: str, *, whole: bool = True, about: str = ""
) -> set[tuple[str, str]]:
    """Ask both ledgers the same; the requests to the first of them."""
    together = [list(questions(twin, described, wanted, whole=whole, about=about)) for twin in twins]
    for both in zip(*together, strict=True):
        first, second = (twin.told(*asked[:2], **asked[2]) for twin, asked in zip(twins, both, strict=True))
        assert first[:-1] == second[:-1], both[0]
        assert first[-1] == second[-1], (both[0], differing(first[-1], second[-1]))
        if first[0] >= 500:
            pytest.fail(f"{both[0]}: {first}")
    return {(method, path) for method, path, _ in together[0]}


@pytest.fixture
def twins(ledgers: Ledgers, settings: ProducerSettings, mode: ScreeningMode) -> Iterator[list[Twin]]:
    with ExitStack() as stack:
        made = []
        for number in range(2):
            url = stack.enter_context(ledgers.lend())
            client = stack.enter_context(Client(settings.model_copy(update={"database_url": url})))
            twin = write(client, mode, number)
            key = api_keys.create(client.engine, ME, [*Scope])
            twin.names[key.split("_")[1]] = "key"
            base = stack.enter_context(gateway(client, largest_body=100_000))
            twin.http = stack.enter_context(http_client(base, key))
            made.append(twin)
        yield made


LONG = [pytest.param(mode, True, marks=pytest.mark.night) for mode in (PAIR, SECOND, AUDITED)]


@pytest.mark.timeout(1_200)  # of the long form
@pytest.mark.parametrize(("mode", "whole"), [(SECOND, False), *LONG])
def test_every_route_answers_alike_whatever_is_hidden(twins: list[Twin], mode: ScreeningMode, whole: bool) -> None:
    described = twins[0].http.get("/openapi.json").json()
    index = DRAWN[1] if mode is AUDITED else DECIDES
    requests = same(twins, described, "get")
    for value in ("include", None, "exclude"):  # decided, withdrawn, decided again
        answers = []
        for twin in twins:
            at = f"/v1/batches/{twin.id_of('main')}/items/{index}/override"
            body = {} if value is None else {"json": {"value": value}}
            answers.append(twin.told("DELETE" if value is None else "POST", at, **body))
        assert answers[0] == answers[1]
        assert answers[0][0] in (201, 204)
        same(twins, described, "get", whole=whole)
    for method in ("put", "post", "delete"):
        requests |= same(twins, described, method)
    same(twins, described, "get", whole=whole)
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
def test_no_rule_of_visibility_can_be_taken_out_unnoticed(twins: list[Twin]) -> None:
    described, unnoticed = twins[0].http.get("/openapi.json").json(), []
    for rule, (owner, name, instead, method, about) in RULES.items():
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(owner, name, instead)
            try:
                same(twins, described, method, about=about)
            except AssertionError:
                continue
        unnoticed.append(rule)
    assert not unnoticed
