"""What the doctor says of what it read; each row is a thing that goes wrong in practice."""

from dataclasses import fields, replace
from datetime import UTC, datetime

import pytest

from tamis_cli.doctor.examination import Learned, LedgerReading, judge_learned, judge_ledger_server
from tamis_cli.doctor.finding import Finding, Level
from tamis_cli.doctor.redis_server import RedisReading, Unreachable, judge_redis_server
from tamis_cli.doctor.surroundings import (
    REPAIRED,
    judge_blocks,
    judge_clocks,
    judge_disk,
    judge_names,
    judge_repairs,
    judge_servers,
    judge_times,
    judge_workers,
)
from tamis_producer.ledger.worker_view import WorkerReport, WorkerState, WorkerView
from tamis_producer.runs.workers import Repairs
from tamis_producer.transport.blocks import Block
from tamis_schemas import LedgerUnavailable
from tamis_worker.config.settings import WorkerSettings
from tamis_worker.maintenance.reconciler import Swept

OK, WARNING, FAILURE = Level.OK, Level.WARNING, Level.FAILURE
REDIS = RedisReading(
    version="8.1", latency=0.001, ahead=0.0, policy="noeviction", append_only=True, last_write_ok=True,
    used=10_000_000, maxmemory=100_000_000, evicted=0, replica=False,
)  # fmt: skip
LEDGER = LedgerReading(
    version="18.6", latency=0.001, ahead=0.0, revision="2", size=8_000_000, connections=20, connections_at_most=97,
    read_only=False,
)  # fmt: skip
REVISIONS = ("1", "2")


def worst(findings: list[Finding]) -> Finding:
    order = [FAILURE, WARNING, OK]
    return min(findings, key=lambda finding: order.index(finding.level))


@pytest.mark.parametrize(
    ("changes", "level", "says"),
    [
        ({}, OK, "answers in 1.0 ms"),
        ({"latency": 0.051}, WARNING, "answers in 51.0 ms"),
        ({"policy": "allkeys-lru"}, FAILURE, "evicts messages when it is full (allkeys-lru)"),
        ({"policy": "allkeys-lru", "maxmemory": 0}, WARNING, "would evict messages"),
        ({"policy": None}, WARNING, "no permission for INFO"),
        ({"evicted": 12_000}, WARNING, "has evicted 12,000 keys"),
        ({"used": 79_999_999}, OK, ""),
        ({"used": 80_000_000}, WARNING, "80 MB of 100 MB (80%)"),
        ({"append_only": False}, WARNING, "has no append-only file"),
        ({"last_write_ok": False}, FAILURE, "last write to disk failed"),
        ({"replica": True}, FAILURE, "a replica"),
        ({"cluster": True, "refusal": "CROSSSLOT"}, FAILURE, "a Redis Cluster"),
        ({"refusal": "NOPERM"}, FAILURE, "refuses a script on Tamis's keys: NOPERM"),
    ],
)
def test_redis_is_judged(changes: dict[str, object], level: Level, says: str) -> None:
    found = worst(judge_redis_server("broker", "host:6379", replace(REDIS, **changes)))  # type: ignore[arg-type] # fields
    assert (found.level, says in found.what) == (level, True), found


def test_redis_that_does_not_answer_is_told_from_one_that_refuses_the_password() -> None:
    silent, refused = (
        worst(judge_redis_server("broker", "h:1", Unreachable("why", refused=refused))) for refused in (False, True)
    )
    assert (silent.what, refused.what) == ("h:1 does not answer: why", "h:1 denies access: why")
    assert "TAMIS_BROKER_URL" in (silent.mend or "")
    assert "password" in (refused.mend or "")


@pytest.mark.parametrize(
    ("changes", "level", "says"),
    [
        ({}, OK, "Postgres answers in 1.0 ms"),
        ({"latency": 0.2}, WARNING, "answers in 200.0 ms"),
        ({"read_only": True}, FAILURE, "read-only"),
        ({"encoding": "LATIN1"}, FAILURE, "its encoding is LATIN1"),
        ({"revision": None}, FAILURE, "has no tables yet"),
        ({"revision": "1"}, FAILURE, "older (revision 1)"),
        ({"revision": "3"}, FAILURE, "newer (revision 3)"),
        ({"connections": 81}, OK, ""),  # 97 - 81 = 16: one more worker
        ({"connections": 82}, WARNING, "82 of 97 connections"),
        ({"connections": 97}, FAILURE, "97 of 97 connections"),
    ],
)
def test_the_ledger_is_judged(changes: dict[str, object], level: Level, says: str) -> None:
    found = worst(judge_ledger_server(replace(LEDGER, **changes), REVISIONS))  # type: ignore[arg-type] # fields
    assert (found.level, says in found.what) == (level, True), found


def test_a_ledger_that_does_not_answer_says_why() -> None:
    found = judge_ledger_server(LedgerUnavailable("Postgres does not answer: no route"), REVISIONS)
    assert [(one.level, one.what) for one in found] == [(FAILURE, "Postgres does not answer: no route")]


@pytest.mark.parametrize(
    ("visibility", "level"),
    # an item: 900 + 120 = 1020 s; a call: 120 s; a join: 60 s
    [(1020, OK), (900, OK), (120, OK), (119, WARNING), (60, WARNING), (59, FAILURE)],
)
def test_time_limits_are_judged_by_what_a_second_delivery_would_do(visibility: float, level: Level) -> None:
    assert judge_times(visibility=visibility, item_deadline=900, call_timeout=120).level is level


def test_a_misspelt_variable_is_named_with_the_setting_that_is_meant() -> None:
    names = ["TAMIS_LIMIT_RMP", "TAMIS_XYZ", "TAMIS_MODEL", "TAMIS_LLM_API_KEY_FILE", "TAMIS_BROKER_URL_FILE", "PATH"]
    assert [(one.what, one.mend) for one in judge_names(names, WorkerSettings.model_fields)] == [
        ("TAMIS_LIMIT_RMP is no setting, so it has no effect", "write TAMIS_LIMIT_RPM"),
        ("TAMIS_XYZ is no setting, so it has no effect", "see the names on the page Settings, or remove it"),
    ]


def test_clocks_are_compared_in_both_directions() -> None:
    assert judge_clocks({"broker": 29.9, "ledger": -29.9}).level is OK
    far = judge_clocks({"broker": 300.0, "ledger": -301.0})
    assert far.level is WARNING
    assert far.what == "broker's is 300 s ahead of this machine's, ledger's is 301 s behind this machine's"
    assert judge_clocks({}).level is WARNING


def view(**changes: object) -> WorkerView:
    report = WorkerReport(id="w", host="h", pid=7, version="1", concurrency=32)
    return WorkerView.of(report.model_copy(update=changes), datetime(2026, 1, 1, tzinfo=UTC))


@pytest.mark.parametrize(
    ("workers", "waiting", "levels"),
    [
        ([], {"q": 0}, [WARNING]),
        ([], None, [WARNING]),
        ([], {"q": 3}, [FAILURE]),  # somebody waits for a worker
        ([view()], {"q": 3}, [OK]),
        ([view(), view(version="0")], {}, [OK, WARNING]),
        ([view(state=WorkerState.HOLDING_BACK, reason="Postgres is full")], {}, [OK, WARNING]),
        ([view(state=WorkerState.STOPPING)], {}, [OK]),
    ],
)
def test_workers_are_judged(workers: list[WorkerView], waiting: dict[str, int] | None, levels: list[Level]) -> None:
    assert [finding.level for finding in judge_workers(workers, waiting, version="1")] == levels


@pytest.mark.parametrize(
    ("in_ledger", "in_redis", "mend"),
    [
        ([], [], None),
        (["a", "b"], ["b"], None),  # a has just begun, or Redis refused its report
        (["a"], [], "set TAMIS_BROKER_URL here as for the workers"),
        ([], ["a"], "set TAMIS_DATABASE_URL here as for the workers"),
        (["a"], ["b"], "set TAMIS_DATABASE_URL here as for the workers"),
    ],
)
def test_workers_that_report_elsewhere_are_a_failure(
    in_ledger: list[str], in_redis: list[str], mend: str | None
) -> None:
    findings = list(judge_servers(in_ledger, in_redis))
    assert [(finding.level, finding.mend) for finding in findings] == ([] if mend is None else [(FAILURE, mend)])


def test_a_blocked_model_is_a_warning_with_the_command_that_lifts_it() -> None:
    (found,) = judge_blocks([Block("m", datetime(2026, 11, 28, 12, 34, tzinfo=UTC))])
    assert found == Finding(
        "limiter",
        WARNING,
        "no calls to m until 2026-11-28 12:34 UTC: the endpoint asks to wait",
        "wait, or run `tamis unblock m`",
    )
    assert [finding.level for finding in judge_blocks([])] == [OK]


def test_the_disk_is_judged() -> None:
    assert judge_disk(".tamis", 2_000_000_000).level is OK
    assert judge_disk(".tamis", 1_999_999_999).level is WARNING


def test_what_the_reconciler_did_is_told_with_its_last_time_and_is_no_trouble() -> None:
    at = datetime(2026, 11, 22, 9, 5, tzinfo=UTC)
    found = judge_repairs([Repairs("lost", 1_200, at), Repairs("closed", 1, at)])
    assert found.level is OK
    assert found.what == "repairs so far: lost messages replaced 1,200, shards closed 1; last at 2026-11-22 09:05 UTC"
    assert judge_repairs([]).what == "no repair was ever needed"


def test_everything_that_a_sweep_can_find_has_words() -> None:
    assert set(REPAIRED) == {field.name for field in fields(Swept)}


def test_how_the_workers_ask_a_model_is_told_and_in_vain_is_a_warning() -> None:
    known = Learned("https://llm.example/v1", "m", "text", True, 0, datetime(2026, 11, 22, 9, 5, tzinfo=UTC))
    told = "workers ask m at https://llm.example/v1 on rung text since 2026-11-22 09:05 UTC"
    learned = known, replace(known, proven=False), replace(known, unusable=3)
    proven, unproven, vain = map(judge_learned, learned)
    assert (proven.level, proven.what) == (OK, told)
    assert (unproven.level, unproven.what) == (OK, f"{told}; no answer has confirmed it yet")
    assert (vain.level, vain.what) == (WARNING, f"{told}; the last 3 answers were unusable")
