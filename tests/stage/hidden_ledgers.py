"""Two ledgers of a review that people read blind. They differ only in decisions that are hidden from a reader."""

import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import insert, update

from tamis_producer import Batch, Client, ProducerSettings
from tamis_review import (
    close_stop_sample,
    draw_audit,
    draw_stop_sample,
    next_records,
    override,
    record_audit,
    remark,
    set_screening_mode,
)
from tamis_review.decisions.audits import AuditDecision
from tamis_schemas import Exclusion, Inclusion, ItemStatus, Judge, PanelResult, ScreeningMode, Stratum
from tamis_schemas.answers.transcript import TranscribedCall, TranscribedMessage
from tamis_schemas.ledger import batches, transcripts
from tamis_schemas.operations.criteria import WorkedExample
from tamis_schemas.records.random_order import sample

from .gateway_page import decision, record
from .kept import finish
from .ledgers import Ledgers
from .panelled import MODELS, PANELLED
from .screened import CRITERIA, SCREENING, Ledgered, Place, decided, failed, kept_out, write_batch, write_review

PAIR, SECOND, AUDITED = ScreeningMode.PAIR, ScreeningMode.MODEL_SECOND, ScreeningMode.MODEL_AUDITED
ME, OTHER, THIRD = "Reviewer A", "Reviewer B", "Reviewer C"
WORDS = ("zebra", "xylophone")  # of the one ledger, and of the other
N = 8  # records that the model decided; one more failed, and one was excluded by a rule
DRAWN = sample(range(N), 4, seed=7)
DECIDES = 5  # the record that the reader decides; of an audit, one that is drawn
OPEN = {PAIR: {0}, SECOND: {0, DECIDES}, AUDITED: {*range(N)} - {*DRAWN[1:]}}  # records that never differ


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
    """One of the ledgers."""

    client: Client
    mode: ScreeningMode
    names: dict[str, str]  # id -> what to call it

    def id_of(self, name: str) -> str:
        return next(one for one, called in self.names.items() if called == name)

    def plain(self, text: str) -> str:
        """A text without ids and times."""
        for one, called in self.names.items():
            text = text.replace(one, called).replace(one[:8], called)
        text = re.sub(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "an id", text)
        text = re.sub(r"tamis_\w{12}_[\w-]{43}", "a key", text)
        text = re.sub(r'(?<="elapsed_seconds":)[\d.]+', "n", text)
        return re.sub(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?)?( UTC|Z|\+00:00)?", "a time", text)


@contextmanager
def twin_ledgers(ledgers: Ledgers, settings: ProducerSettings, mode: ScreeningMode) -> Iterator[list[Twin]]:
    """Two ledgers of a review that people read blind. They differ only in what is hidden from the reader `ME`."""
    with ExitStack() as stack:
        urls = [stack.enter_context(ledgers.lend()) for _ in range(2)]
        clients = [stack.enter_context(Client(settings.model_copy(update={"database_url": url}))) for url in urls]
        yield [write(client, mode, number) for number, client in enumerate(clients)]


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
    if not judges:  # whoever knows what passed may not know what people then said of it
        override(client.batch(str(later)), 0, values[0], reviewer=OTHER)
        override(client.batch(str(later)), 0, "include", reviewer=THIRD)
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
            override(batch, n, ("include", "exclude")[(n + twin) % 2 * twin], reviewer=THIRD)
    if mode is not AUDITED:
        override(batch, N + 1, ("include", "exclude")[twin], reviewer=OTHER, note=WORDS[twin])
    remark(batch, [0], labels=["shared"], reviewer=OTHER)
