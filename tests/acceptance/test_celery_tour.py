"""A Celery user's tour: every command of Celery's that talks to workers, with two workers and a batch under way."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from celery.worker.control import Panel

from llm_double import Fault, Kind
from stage import abstracts, wait_until
from stage.celery_command import APP, celery
from stage.celery_tour import AT_ONCE, KEY, SECOND, Tour, celery_tour
from tamis_cli.embedded.part import answers
from tamis_cli.embedded.ports import free_port
from tamis_cli.embedded.valkey import Valkey
from tamis_producer import Batch
from tamis_schemas import Filter
from tamis_worker.celery_adapter.remote_control import REFUSED

ONCOLOGY = Filter(criteria="Is this about oncology?")
WITHIN = 30.0  # s
LASTS = 120.0  # s, a call that is cut off
BRIEF = 2.0  # s, a call that is finished
ENDED = "shutdown"  # asked last

ARGUMENTS: dict[str, dict[str, Any]] = {
    "query_task": {"ids": ["an id"]},
    "revoke": {"task_id": ["an id"]},
    "terminate": {"signal": "TERM", "task_id": ["an id"]},
    "revoke_by_stamped_headers": {"headers": ["batch_id=00000000-0000-0000-0000-000000000000"]},
    "rate_limit": {"task_name": "tamis.filter", "rate_limit": "1/s"},
    "time_limit": {"task_name": "tamis.filter", "hard": 60, "soft": 50},
    "add_consumer": {"queue": "another"},
    "cancel_consumer": {"queue": "items.low.3"},
    "election": {"id": "e", "topic": "task"},
    "hello": {"from_node": "celery@elsewhere"},
}


@pytest.fixture(scope="module")
def tour(module_database_url: str, valkey: Valkey, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tour]:
    with celery_tour(tmp_path_factory.mktemp("tour"), module_database_url, valkey) as running:
        yield running


def under_way(tour: Tour, items: int, *, seconds: float) -> Batch:
    """A batch whose calls take so long, with as many in flight as both workers take."""
    tour.prove_the_key()
    tour.double.reset()
    tour.double.script(faults=[Fault(Kind.SLOW, delay=seconds)])
    batch = tour.client.submit(ONCOLOGY, abstracts(items), use_cache=False)
    tour.double.wait(in_flight=min(items, 2 * AT_ONCE), bound=WITHIN)
    return batch


@pytest.mark.night
def test_every_command_is_answered_by_both_workers_and_none_is_done_in_name_only(tour: Tour) -> None:
    batch = under_way(tour, 2 * AT_ONCE, seconds=BRIEF)
    for name in sorted(Panel.meta.keys() - {ENDED}):
        for reply in tour.ask(name, **ARGUMENTS.get(name, {})):
            refused = isinstance(reply, dict) and set(reply) == {"error"}
            assert refused == (name in REFUSED or name == "objgraph"), (name, reply)
            assert KEY not in str(reply), name
            assert reply is not None
    for stats in tour.ask("stats"):
        assert stats["total"]["tamis.filter"] >= 1  # both took items, whichever command started them
        assert stats["tamis"]["items"]["at_once"] == AT_ONCE
        assert stats["tamis"]["limiters"]["double-1"]["calls_at_once_of_all_workers"] >= 1
        assert stats["tamis"]["circuit_breakers"].keys() == {"double-1"}
    for conf in tour.ask("conf"):
        assert conf["tamis"]["limit_concurrency"] == 64
        assert conf["broker_transport_options"]["visibility_timeout"] == 900
    assert batch.wait(WITHIN).decided == 2 * AT_ONCE  # nothing of all that disturbed it


@pytest.mark.night
def test_a_revoked_item_whose_call_is_in_flight_is_paid_for_and_ends_as_cancelled(tour: Tour) -> None:
    batch = under_way(tour, 3, seconds=BRIEF)
    replies = tour.ask("revoke", task_id=tour.active()[1])
    assert sorted("cancelled here: 1" in reply["ok"] for reply in replies) == [False, True]
    summary = batch.wait(WITHIN)
    assert (summary.decided, summary.cancelled) == (2, 1)
    bill = tour.bill(batch, 1)
    assert bill is not None
    assert (bill.calls, bill.unanswered, bill.value) == (1, 0, None)
    assert tour.double.count(200) == 3
    assert tour.client.batch(batch.id).status().counts.identity_holds


@pytest.mark.night
def test_with_terminate_the_call_is_cut_off_and_counts_as_one_without_an_answer(tour: Tour) -> None:
    batch = under_way(tour, 2, seconds=LASTS)
    ids = tour.active()
    assert tour.celery("control", "terminate", "KILL", ids[0]).exit_code == 0
    tour.app.control.revoke(ids[1], terminate=True)  # as Flower and a service do: nobody waits for an answer
    summary = batch.wait(WITHIN)
    assert summary.cancelled == 2
    for index in (0, 1):
        bill = tour.bill(batch, index)
        assert bill is not None
        assert (bill.calls, bill.unanswered) == (1, 1)
    assert batch.status().counts.identity_holds


@pytest.mark.night
def test_an_item_whose_message_waits_is_cancelled_by_its_id_or_by_its_header_without_a_call(tour: Tour) -> None:
    batch = under_way(tour, 2 * AT_ONCE + 3, seconds=BRIEF)
    waiting = tour.queued()
    by_id, by_header, *_ = waiting
    tour.ask("revoke", task_id=[waiting[by_id]])
    batch.pause()  # what waits is not begun any more, and all the same it is known what was revoked
    wait_until(lambda: batch.status().counts.cancelled == 1, within=WITHIN, what="its message came")
    assert batch.status().counts.pending == 2
    replies = tour.ask("revoke_by_stamped_headers", headers={"item": [f"{batch.id}/{by_header}"]})
    assert sorted(reply["ok"] for reply in replies) == [
        "cancelled here: 0; cancelled before they began: 0",
        "cancelled here: 0; cancelled before they began: 1",
    ]
    batch.resume()
    summary = batch.wait(WITHIN)
    assert (summary.decided, summary.cancelled) == (2 * AT_ONCE + 1, 2)
    assert tour.double.count() == summary.decided
    assert tour.bill(batch, by_id) is None
    assert waiting[by_id] in tour.ask("revoked")[0]


@pytest.mark.night
def test_a_batch_s_header_cancels_what_is_left_of_it_and_a_retry_of_those_is_not_cancelled(tour: Tour) -> None:
    batch = under_way(tour, 2 * AT_ONCE + 3, seconds=LASTS)
    header = {"batch_id": [str(batch.id)]}
    tour.app.control.revoke_by_stamped_headers(header, terminate=True)
    assert batch.wait(WITHIN).cancelled == 2 * AT_ONCE + 3
    tour.double.reset()
    assert batch.retry(cancelled=True) == 2 * AT_ONCE + 3
    assert batch.wait(WITHIN).decided == 2 * AT_ONCE + 3


@pytest.mark.night
def test_a_purge_leaves_a_batch_that_completes(tour: Tour) -> None:
    batch = under_way(tour, 2 * AT_ONCE + 5, seconds=BRIEF)
    purged = tour.celery("purge", "--force")
    assert "Purged 5 messages" in purged.output
    assert batch.wait(WITHIN).decided == 2 * AT_ONCE + 5  # the reconciler published them again
    assert tour.double.count() == 2 * AT_ONCE + 5


@pytest.mark.night
def test_the_command_line_shows_what_the_workers_say(tour: Tour) -> None:
    batch = under_way(tour, 1, seconds=BRIEF)
    (id_,) = tour.active().values()
    for arguments, shown in {
        ("status",): "2 nodes online",
        ("inspect", "ping", "-d", SECOND): "pong",
        ("inspect", "query_task", id_): "index=0 item=rec-0",
        ("inspect", "stats"): "calls_in_flight",
        ("inspect", "registered"): "tamis.inclusion",
        ("control", "rate_limit", "tamis.filter", "1/s"): "TAMIS_LIMIT_RPM",
        ("control", "pool_grow", "2"): "TAMIS_CONCURRENCY",
        ("control", "disable_events"): "task events disabled",
        ("control", "enable_events"): "task events enabled",
        ("list", "bindings"): "items.normal.0",
        ("graph", "workers"): SECOND,
        ("report",): "software -> celery",
    }.items():
        result = tour.celery(*arguments)
        assert result.exit_code == 0, (arguments, result.output)
        assert shown in result.output, arguments
    called = tour.celery("call", "tamis.filter", "--args", json.dumps([str(batch.id), 0]))
    assert called.exit_code == 0, called.output
    assert batch.wait(WITHIN).decided == 1
    assert tour.double.count() == 1  # the call by hand found its item claimed


@pytest.mark.night
def test_without_the_key_prefix_nobody_is_found(tour: Tour) -> None:
    broker = tour.client.settings.broker
    alone = subprocess.run(
        [sys.executable, "-m", "celery", "-b", broker, "inspect", "ping", "-t", "0.5"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert "No nodes replied" in alone.stderr + alone.stdout
    with_it = celery("inspect", "ping", env=tour.environment, cwd=tour.folder)  # and so by the real command
    assert (with_it.returncode, "2 nodes online" in with_it.stdout) == (0, True)


@pytest.mark.night
@pytest.mark.parametrize(
    ("arguments", "shown"),
    [(["events", "--dump"], "task received"), (["flower"], None)],
)
def test_events_and_flower_show_the_workers(tour: Tour, arguments: list[str], shown: str | None) -> None:
    port = free_port(None)
    log = tour.folder / f"{arguments[0]}.log"
    more = [] if shown else [f"--port={port}", "--basic-auth=tamis:a-password-of-the-test"]
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "celery", "-A", APP, *arguments, *more],
            env={**os.environ, **tour.environment, "PYTHONUNBUFFERED": "1"},
            cwd=tour.folder,
            stdout=output,
            stderr=output,
        )
    try:
        if shown is None:
            wait_until(lambda: answers(port, "/healthcheck"), within=WITHIN, what="Flower answers")
            return
        wait_until(lambda: "heartbeat" in log.read_text(), within=WITHIN, what="events are read")
        tour.client.submit(ONCOLOGY, abstracts(1), use_cache=False).wait(WITHIN)
        wait_until(lambda: shown in log.read_text(), within=WITHIN, what="the item's events are shown")
    finally:
        process.kill()
        process.wait()


@pytest.mark.night
def test_a_shutdown_by_remote_control_finishes_what_is_in_flight(tour: Tour) -> None:
    first, second = tour.workers
    batch = under_way(tour, 2 * AT_ONCE, seconds=BRIEF)
    (replies,) = tour.app.control.broadcast("shutdown", destination=[SECOND], reply=True, limit=1, timeout=WITHIN)
    assert "calls in flight finish" in replies[SECOND]["ok"]
    assert second.process.wait(WITHIN) == 0
    assert batch.wait(WITHIN).decided == 2 * AT_ONCE
    assert tour.double.count() == 2 * AT_ONCE  # nothing was asked twice
    assert first.process.poll() is None


@pytest.mark.night
def test_celery_multi_starts_a_worker_in_the_background_and_stops_it(tour: Tour, tmp_path: Path) -> None:
    def multi(*arguments: str) -> int:
        files = [f"--pidfile={tmp_path}/%n.pid", f"--logfile={tmp_path}/%n.log"]
        command = [*arguments, *files, "--loglevel=info"]
        return celery("multi", *command, env=tour.environment, cwd=tour.folder, within=WITHIN).returncode

    def log(name: str) -> str:
        return path.read_text("utf-8") if (path := tmp_path / f"{name}.log").exists() else ""

    assert multi("start", "third") == 0
    try:
        wait_until(lambda: " is ready: " in log("third"), within=WITHIN, what="it is ready")
    finally:
        assert multi("stopwait", "third") == 0
    assert not (tmp_path / "third.pid").exists()
    assert multi("start", "fourth", "-c", "8") == 0  # it is in the background by then
    wait_until(lambda: "TAMIS_CONCURRENCY" in log("fourth"), within=WITHIN, what="its log says why it did not start")
