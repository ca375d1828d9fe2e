"""Every command of Celery's remote control acts on the engine, or is refused by an error that says what to use."""

from collections.abc import Collection, Iterator, Sequence
from types import SimpleNamespace
from typing import Any
from uuid import UUID, uuid4

import pytest
from celery.utils import debug
from celery.worker import state
from celery.worker.control import Panel

from tamis_producer import ProducerSettings
from tamis_producer.transport.broker import make_app
from tamis_schemas import LedgerUnavailable
from tamis_worker.celery_adapter.delivery import Delivery
from tamis_worker.celery_adapter.item_strategy import Revocations
from tamis_worker.celery_adapter.remote_control import KEPT, REFUSED, EngineControls, RemoteControl
from tamis_worker.ledger.claims import ItemKey

BATCH = uuid4()
PASSWORD = "a-password-that-nobody-is-shown"


class Engine:
    """What the commands did; the loop calls at once."""

    def __init__(self) -> None:
        self.cancelled: list[tuple[int, bool]] = []
        self.claimed: set[ItemKey] = set()
        self.away = False
        self.drained = 0
        loop: Any = SimpleNamespace(call_soon=lambda callback: callback())
        self.revocations = Revocations(loop, lambda key, cut: self.cancelled.append((key.index, cut)), lambda key: None)
        self.control = RemoteControl(
            self.revocations,
            EngineControls(
                report=lambda: {"calls_in_flight": 3, "reason": f"no answer from redis://:{PASSWORD}@h"},
                settings=lambda: {"broker_url": f"redis://:{PASSWORD}@h/0"},
                cancel_items=self.cancel_items,
                cancel_waiting=self.cancel_waiting,
                is_claimed=self.claimed.__contains__,
                drain=self.drain,
                redact=lambda text: text.replace(PASSWORD, "[secret]"),
            ),
        )

    def cancel_items(self, keys: Sequence[ItemKey]) -> int:
        if self.away:
            raise LedgerUnavailable("the ledger is away")
        return len(keys)

    def cancel_waiting(self, batch_ids: Collection[UUID]) -> int:
        if self.away:
            raise TimeoutError
        return 40 * len(batch_ids)

    def drain(self) -> None:
        self.drained += 1

    def takes(self, index: int, id_: str) -> Delivery:
        """An item comes in and begins."""
        message = SimpleNamespace(
            headers={"id": id_, "task": "tamis.filter", "argsrepr": f"b index={index}"},
            payload=((str(BATCH), index), {}, {}),
            delivery_info={},
        )
        delivery = Delivery(message, None, None)
        state.active_requests.add(delivery)
        self.revocations.taken(delivery)
        self.revocations.begins(delivery)
        return delivery

    def ask(self, command: str, **arguments: Any) -> Any:
        return self.control.commands()[command](PANEL, **arguments)


class Dispatcher:
    """Events that go nowhere."""

    def __init__(self) -> None:
        self.groups: set[str] = set()
        self.sent: list[str] = []

    def send(self, kind: str, **_: object) -> None:
        self.sent.append(kind)


PANEL = SimpleNamespace(
    app=make_app(ProducerSettings(broker_url=f"redis://:{PASSWORD}@h/0", database_url="postgresql+psycopg://h/d")),
    consumer=SimpleNamespace(controller=SimpleNamespace(stats=lambda: {"pid": 7}), event_dispatcher=None),
)


@pytest.fixture
def engine() -> Iterator[Engine]:
    yield Engine()
    for kept in (state.requests, state.active_requests, state.reserved_requests, state.revoked):
        kept.clear()
    state.should_stop = None


def test_each_command_of_celerys_is_honoured_as_it_is_or_is_ours_or_is_refused(engine: Engine) -> None:
    ours = set(engine.control.commands())
    assert ours | KEPT == set(Panel.meta)
    assert ours & KEPT == set()


def test_ours_take_the_place_of_celerys_under_every_name(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Panel, "data", dict(Panel.data))
    engine.control.install()
    for name, info in Panel.meta.items():
        celerys = Panel.data[name].__module__ == "celery.worker.control" if name in KEPT else False
        assert celerys == (name in KEPT), name
        assert info.alias is None or Panel.data[info.alias] is Panel.data[name]
    assert Panel.data["dump_active"](PANEL) == []


@pytest.mark.parametrize("command", REFUSED)
def test_a_command_that_cannot_act_is_refused_with_what_does(engine: Engine, command: str) -> None:
    reply = engine.ask(command, task_name="tamis.filter", rate_limit="1/s", n=2, queue="q", anything="else")
    assert set(reply) == {"error"}
    assert any(use in reply["error"] for use in ("TAMIS_", "`shutdown`", "`tamis ", "ledger"))


def test_a_revoked_item_that_is_here_ends_as_cancelled_and_others_are_remembered(engine: Engine) -> None:
    engine.takes(4, "here")
    reply = engine.ask("revoke", task_id=["here", "elsewhere", "here"])
    assert engine.cancelled == [(4, False)]
    assert "cancelled here: 1 (b index=4; calls in flight finish first)" in reply["ok"]
    assert "not here: 1" in reply["ok"]
    assert set(state.revoked) == {"here", "elsewhere"}
    engine.takes(5, "elsewhere")  # its message comes
    assert engine.cancelled == [(4, False), (5, False)]


@pytest.mark.parametrize("command", ["revoke", "terminate"])
def test_with_terminate_the_call_in_flight_is_cut_off_whatever_the_signal(engine: Engine, command: str) -> None:
    engine.takes(4, "here")
    more = {"terminate": True} if command == "revoke" else {}
    reply = engine.ask(command, task_id="here", signal="KILL", **more)
    assert engine.cancelled == [(4, True)]
    assert "cut off" in reply["ok"]


def test_an_item_that_is_at_its_end_is_not_said_to_be_cancelled(engine: Engine) -> None:
    engine.revocations.ended(engine.takes(4, "here"))
    assert engine.ask("revoke", task_id="here")["ok"] == "cancelled here: 0; ended already: 1"
    assert engine.cancelled == []


def test_an_aggregate_cannot_be_revoked_and_no_id_is_an_error(engine: Engine) -> None:
    state.requests["an aggregate"] = SimpleNamespace(id="an aggregate")
    assert "close shards" in engine.ask("revoke", task_id=["an aggregate"])["error"]
    assert "an aggregate" not in state.revoked  # Celery would drop its message
    assert "name the id" in engine.ask("revoke", task_id=[])["error"]


def test_headers_cancel_what_waits_in_the_ledger_and_what_is_here(engine: Engine) -> None:
    for index in (4, 5):
        engine.takes(index, f"id-{index}")
    reply = engine.ask("revoke_by_stamped_headers", headers=[f"item={BATCH}/4", f"item={BATCH}/9"])
    assert engine.cancelled == [(4, False)]
    assert reply["ok"].endswith("cancelled before they began: 2")
    reply = engine.ask("revoke_by_stamped_headers", headers={"batch_id": [str(BATCH)]}, terminate=True)
    assert sorted(engine.cancelled[1:]) == [(4, True), (5, True)]
    assert reply["ok"].endswith("cancelled before they began: 40")


def test_headers_that_name_nothing_and_a_ledger_that_is_away_are_errors(engine: Engine) -> None:
    assert "no item has the header" in engine.ask("revoke_by_stamped_headers", headers={"x": "1"})["error"]
    engine.away = True
    reply = engine.ask("revoke_by_stamped_headers", headers={"item": f"{BATCH}/4"})
    assert reply["error"] == "cancelled here: 0; some waiting items were perhaps not cancelled: the ledger is away"
    assert "slow to answer" in engine.ask("revoke_by_stamped_headers", headers={"batch_id": str(BATCH)})["error"]


def test_claimed_items_are_active_others_are_reserved_and_each_is_found_by_its_id(engine: Engine) -> None:
    claimed, taken = engine.takes(4, "claimed"), engine.takes(5, "taken")
    engine.claimed.add(claimed.key)
    assert [shown["id"] for shown in engine.ask("active", safe=True)] == ["claimed"]
    assert [shown["id"] for shown in engine.ask("reserved")] == ["taken"]
    found = engine.ask("query_task", ids=["claimed", "taken", "unknown"])
    assert {id_: where for id_, (where, _) in found.items()} == {"claimed": "active", "taken": "reserved"}
    assert found["taken"][1]["stamps"]["item"] == f"{BATCH}/5"
    engine.revocations.settled(taken)
    assert engine.ask("query_task", ids="taken") == {}


def test_figures_and_configuration_tell_of_the_engine_and_no_secret(engine: Engine) -> None:
    stats = engine.ask("stats")
    assert (stats["pid"], stats["tamis"]["calls_in_flight"]) == (7, 3)
    conf = engine.ask("conf")
    assert conf["tamis"] == {"broker_url": "redis://:[secret]@h/0"}
    assert conf["task_acks_late"] is True
    assert PASSWORD not in f"{stats}{conf}{engine.ask('conf', with_defaults=True)}{engine.ask('report')}"


def test_a_shutdown_gives_back_what_waits_and_answers(engine: Engine) -> None:
    assert "stops" in engine.ask("shutdown")["ok"]
    assert engine.drained == 1
    assert state.should_stop == 0


def test_events_are_turned_off_and_on_and_a_heartbeat_is_sent(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    for command in ("enable_events", "disable_events", "heartbeat"):
        assert "no connection" in engine.ask(command)["error"]
    dispatcher = Dispatcher()
    monkeypatch.setattr(PANEL.consumer, "event_dispatcher", dispatcher)
    assert engine.ask("enable_events")["ok"] == "task events already enabled"
    assert engine.ask("disable_events")["ok"] == "task events disabled"
    assert dispatcher.groups == {"worker"}
    assert engine.ask("disable_events")["ok"] == "task events already disabled"
    assert engine.ask("enable_events")["ok"] == "task events enabled"
    assert dispatcher.groups == set()
    engine.ask("heartbeat")
    assert dispatcher.sent == ["worker-heartbeat"]


def test_memory_is_told_or_it_is_said_what_is_missing(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    assert engine.ask("memsample").endswith("B")
    assert "rss (end)" in engine.ask("memdump", samples=2)
    monkeypatch.setattr(debug, "ps", lambda: None)
    assert "psutil" in engine.ask("memsample")["error"]
    assert "psutil" in engine.ask("memdump")["error"]
