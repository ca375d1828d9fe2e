"""A person's wait, over HTTP, for a page of a large batch's work list, and for a decision."""

import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any
from uuid import uuid4

import httpx2 as httpx
from sqlalchemy import text

from tamis_cli.embedded.programs import Gateway
from tamis_producer.gateway import api_keys
from tamis_producer.gateway.api_keys import Scope
from tamis_schemas import Inclusion

from .options import Options
from .parts import Ledger, Parts, clean_environment
from .records import MODEL, records
from .report import Cell, Table, spread

ITEMS, SHORT_ITEMS = 100_000, 2_000
REPETITIONS, SHORT_REPETITIONS = 7, 2
READER = "Reviewer A"
WITHIN = 120.0  # s that a request may take
COLUMNS = ("request", "ms", "each run", "found")

QUESTION = Inclusion.model_validate(
    {
        "operation": "inclusion",
        "criteria": {
            "research_question": "Does the drug help?",
            "inclusion_criteria": ["adults", "randomised trials"],
            "exclusion_criteria": ["animals"],
        },
    }
)
# Of five records one is included, one uncertain, three are excluded; of fifty one is flagged. Written as workers do it.
DECIDE = (
    "UPDATE batches SET state = 'running', pause = NULL WHERE id = :id",
    "UPDATE item_states SET state = 'running', fence = fence + 1 WHERE batch_id = :id AND state = 'pending'",
    """INSERT INTO results (batch_id, idx, fence, round, value, detail, confidence, reasoning, model, prompt_tokens,
                             completion_tokens, calls, latency_ms)
       SELECT batch_id, idx, fence, 1, to_json(status), replace(json_build_object(
                  'status', status, 'confidence', 0.9,
                  'rationale', 'The record says so in its second sentence, and nothing speaks against it.',
                  'verdicts', json_build_object(
                      'I1', json_build_object('verdict', 'met', 'quote', quote),
                      'I2', json_build_object('verdict', 'met', 'quote', quote),
                      'E1', json_build_object('verdict', 'not met', 'quote', NULL)),
                  'criteria', CASE status WHEN 'exclude' THEN json_build_array(because) ELSE '[]' END,
                  'exclusion_reason', CASE status WHEN 'exclude' THEN because END,
                  'model_status', NULL, 'uncertain_reason', NULL, 'model_confidence', NULL,
                  'flagged', idx % 50 = 0)::text, '" : ', '": ')::json,
              0.9, 'The record says so.', 'double-1', 400, 40, 1, 900
       FROM (SELECT *, CASE idx % 5 WHEN 0 THEN 'include' WHEN 1 THEN 'uncertain' ELSE 'exclude' END AS status,
                    CASE idx % 2 WHEN 0 THEN 'animals' ELSE 'not met: randomised trials' END AS because,
                    json_build_object('text', 'words of the abstract that were quoted', 'field', 'abstract',
                        'start', 100, 'end', 138, 'state', 'found', 'similarity', 1, 'differences', '[]'::json) AS quote
             FROM item_states WHERE batch_id = :id AND state = 'running') AS said""",
    "UPDATE item_states SET state = 'decided' WHERE batch_id = :id AND state = 'running'",
    "UPDATE batches SET state = 'completed', finished_at = now() WHERE id = :id",
    """INSERT INTO overrides (batch_id, idx, value, reviewer)
       SELECT :id, idx, to_json(CASE idx % 10 WHEN 0 THEN 'include' ELSE 'exclude' END), 'Reviewer A'
       FROM item_states WHERE batch_id = :id AND idx % 20 = 7""",
    """INSERT INTO remarks (batch_id, idx, kind, text, reviewer)
       SELECT :id, idx, 'label', 'to discuss', 'Reviewer A' FROM item_states WHERE batch_id = :id AND idx % 200 = 3""",
)


def work_list(parts: Parts, options: Options) -> list[Table]:
    """Measure pages of the work list, and decisions, for a batch of which a person has read a twentieth."""
    count = options.items or (SHORT_ITEMS if options.short else ITEMS)
    repetitions = options.repetitions or (SHORT_REPETITIONS if options.short else REPETITIONS)
    given = records(count)
    rare, usual = given[count // 2]["title"].rpartition(" ")[2].rstrip("."), given[0]["title"].split()[1]
    asked: Mapping[str, dict[str, Any]] = {
        "the first page": {},
        "the page behind it": {"after": True},
        "those of an outcome": {"show": "all", "outcome": "excluded"},
        "those excluded for a reason": {"show": "all", "reason": "E1"},
        "those with a label": {"show": "all", "label": "to discuss"},
        "flagged ones": {"show": "all", "flagged": "true"},
        "a search for a word of many": {"show": "all", "q": usual},
        "a search for a title": {"show": "all", "q": given[count // 2]["title"]},
        "a search for a word of none": {"show": "all", "q": f"{rare}qqq"},
        "in the reading order": {"order": "next"},
    }
    rows: list[list[Cell]] = []
    with parts.ledger() as ledger:
        options.say(f"work list: {count:,} records are submitted")
        batch = ledger.client.submit(QUESTION, given)
        batch.pause()
        decide(ledger, batch.id)
        with asking(parts, ledger) as http:
            for name, query in asked.items():
                options.say(f"work list: {name}")
                if query.pop("after", False) and (following := _work(http, batch.id, {})["next"]):
                    query["after"] = following  # else there is one page alone
                answer, seconds = measured(partial(_work, http, batch.id, query), repetitions)
                rows.append([name, *_told(seconds), answer["counts"]["found"]])
            places = iter(range(count))
            _, seconds = measured(lambda: _decide(http, batch.id, next(places)), repetitions)
            rows.append(["a decision (POST)", *_told(seconds), None])
    notes = [
        f"{count:,} records of 1.7 kB with a decision of the model each; {READER} had decided on one in 20; over HTTP, "
        "pages of 50, one request at a time, after one that does not count; the median",
        "found: records on all pages; not counted where a search of more than 20,000 records fills the page at once",
    ]
    return [Table("Work list", COLUMNS, rows, notes)]


def decide(ledger: Ledger, batch_id: str) -> None:
    """Complete a batch by SQL, with people's decisions and labels."""
    with ledger.client.engine.begin() as connection:
        for statement in DECIDE:
            connection.execute(text(statement), {"id": batch_id})
    with ledger.client.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text("VACUUM ANALYZE"))


@contextmanager
def asking(parts: Parts, ledger: Ledger) -> Iterator[httpx.Client]:
    """Yield an HTTP client for a separate gateway process, with a key that may read and decide."""
    told = {"BROKER_URL": ledger.settings.broker, "DATABASE_URL": ledger.settings.database, "MODEL": MODEL}
    environment = clean_environment({f"TAMIS_{name}": value for name, value in told.items()})
    gateway = Gateway(parts.folder / f"gateway-{uuid4().hex[:8]}", environment, usual_port=None)
    gateway.launch()
    try:
        gateway.wait_until_healthy()
        key = api_keys.create(ledger.client.engine, READER, [Scope.READ, Scope.DECIDE])
        headers = {"Authorization": f"Bearer {key}"}
        with httpx.Client(base_url=gateway.url, headers=headers, timeout=WITHIN, trust_env=False) as http:
            yield http
    finally:
        gateway.process.kill()


def measured(do: Callable[[], Any], repetitions: int) -> tuple[Any, list[float]]:
    """Return the last answer of `do`, and the milliseconds of each run except the first."""
    answer, runs = do(), []
    for _ in range(repetitions):
        started = time.perf_counter()
        answer = do()
        runs.append(1000 * (time.perf_counter() - started))
    return answer, runs


def _told(runs: list[float]) -> list[Cell]:
    return [statistics.median(runs), spread(runs)]


def _work(http: httpx.Client, batch_id: str, query: dict[str, Any]) -> Any:
    return http.get(f"/v1/batches/{batch_id}/work", params=query).raise_for_status().json()


def _decide(http: httpx.Client, batch_id: str, place: int) -> Any:
    body = {"value": "include"}
    return http.post(f"/v1/batches/{batch_id}/items/{place}/override", json=body).raise_for_status().json()
