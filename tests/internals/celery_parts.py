"""Celery's parts: its result backend for chords, its messages, and the worker around the consumer."""

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import fakeredis
import kombu
from billiard.einfo import ExceptionInfo
from celery import Celery, bootsteps
from celery.app import trace
from celery.app.task import Context
from celery.apps.worker import Worker
from celery.bin import worker as worker_command
from celery.events import EventDispatcher
from celery.exceptions import InvalidTaskError, NotRegistered, WorkerShutdown, WorkerTerminate
from celery.platforms import create_pidlock
from celery.result import AsyncResult
from celery.utils import debug
from celery.utils.nodenames import node_format
from celery.worker import WorkController, control, state, strategy
from celery.worker import request as worker_request
from celery.worker.consumer import Consumer, Gossip, Mingle
from celery.worker.consumer.delayed_delivery import DelayedDelivery
from celery.worker.heartbeat import Heart
from kombu.asynchronous import Hub
from kombu.exceptions import ContentDisallowed, DecodeError

from tamis_producer import ProducerSettings
from tamis_producer.transport.broker import make_app
from tamis_producer.transport.chord_backend import ChordBackend
from tamis_producer.transport.failover_transport import FailoverConnection
from tamis_worker.celery_adapter.consumer_step import ConsumerWithoutDelayQueues, UnrepeatedEvents

from . import Contract, parameters, takes

SETTINGS = ProducerSettings(broker_url="redis://h/0", database_url="postgresql+psycopg://h/d")
CELERY = Contract()
internal = CELERY.internal


def backend() -> Any:
    with_redis = make_app(SETTINGS).backend
    with_redis.__dict__["client"] = fakeredis.FakeRedis()
    return with_redis


class Request:
    """What Celery asks of a request in its sets; it takes a delivery for one."""

    id = "an id"
    name = "a name"

    def info(self, safe: bool = False) -> dict[str, object]:
        return {"id": self.id, "safe": safe}


def consumer_of(app: Celery, hub: Hub) -> Any:
    """A consumer that is not connected, with eight messages at once."""
    around = {
        "controller": SimpleNamespace(use_eventloop=True, state=state),
        "pool": SimpleNamespace(is_green=False, apply_async=print),
    }
    return ConsumerWithoutDelayQueues(print, app=app, hub=hub, timer=hub.timer, initial_prefetch_count=8, **around)


def dispatcher() -> Any:
    """One that keeps events of tasks back, as in a worker."""
    app = Celery(broker="memory://", set_as_current=False)
    return EventDispatcher(kombu.Connection("memory://"), app=app, buffer_group=["task"])


def sent_and_received() -> Any:
    """An item's message after its way through a broker in this process."""
    app = Celery(broker="memory://", set_as_current=False)
    app.backend.on_task_call = fails  # what would subscribe to the result: not called where nobody asks for it
    chord = {"group_id": "g", "group_index": 4, "chord": {"task": "the body"}}
    names = {"argsrepr": "b#7", "kwargsrepr": "{}", "headers": {"traceparent": "00"}}
    app.send_task("a name", ("b", 7), task_id="an id", queue="q", ignore_result=True, retry=False, **names, **chord)
    with app.connection_for_read() as connection:
        return app.amqp.queues["q"](connection.default_channel).get(no_ack=True)


def fails(*_: object) -> None:
    raise AssertionError("this is not called")


class Foreign:
    """A message that nobody understands."""

    content_type = "application/json"

    def __init__(self, headers: dict[str, Any], payload: object = None) -> None:
        self.headers = headers
        self.payload = payload

    def decode(self) -> object:
        return self.payload

    def ack_log_error(self, logger: object, errors: object) -> None: ...

    reject_log_error = ack_log_error


def foreign_messages(raises: Exception | None = None) -> Any:
    """A consumer whose one strategy, of the task `known`, raises; and the letters that it keeps."""
    app = Celery(broker="memory://", backend="cache+memory://", set_as_current=False)
    consumer = consumer_of(app, Hub())
    letters: list[tuple[Foreign, str]] = []
    consumer.foreign = SimpleNamespace(refuse=lambda message, why: letters.append((message, why)))
    consumer.event_dispatcher = None
    consumer.on_task_message = ()

    def strategy(*_: object) -> None:
        assert raises is not None
        raise raises

    consumer.strategies = {"known": strategy}
    return SimpleNamespace(consumer=consumer, letters=letters)


class Strategy:
    """An object in the place of a class, as ours is."""

    def __call__(self, *args: object) -> tuple[object, ...]:
        return args


@contextmanager
def held(requests: Any, request: Request) -> Iterator[None]:
    """A request in one of Celery's sets, for as long as this lasts."""
    requests.add(request)
    yield
    requests.discard(request)
    assert request not in requests


def stops(name: str, error: type[BaseException]) -> bool:
    """Whether Celery ends for what is set in its state, and nothing is set otherwise."""
    assert getattr(state, name) is None
    setattr(state, name, 0)
    try:
        state.maybe_shutdown()
    except error:
        return True
    finally:
        setattr(state, name, None)
    return False


@internal("celery.app.base.Celery._pool")
def _() -> None:
    app = Celery(broker="redis://h/0", set_as_current=False)
    assert app._pool is None  # as long as nothing asked for it
    assert app.pool is app._pool


@internal("celery.app.amqp.AMQP._producer_pool")
def _() -> None:
    app = Celery(broker="redis://h/0", set_as_current=False)
    assert app.amqp._producer_pool is None
    assert app.producer_pool is app.amqp._producer_pool


@internal("celery.backends.redis.RedisBackend")
def _() -> None:
    assert type(make_app(SETTINGS).backend) is ChordBackend  # by `module:Class+URL`
    assert backend().client.register_script("return 7")() == 7


@internal("celery.backends.redis.RedisBackend.get_key_for_group")
def _() -> None:
    assert backend().get_key_for_group("g", ".s").endswith(b"g.s")


@internal("celery.backends.redis.RedisBackend.client")
def _() -> None:
    kept = backend()
    kept.client.set("k", "v")
    assert kept.get("k") == b"v"


@internal("celery.backends.redis.RedisBackend.connparams")
def _() -> None:
    assert make_app(SETTINGS).backend.connparams["socket_timeout"] == 15


@internal("celery.app.amqp.AMQP.Connection")
def _() -> None:
    assert type(make_app(SETTINGS).connection()) is FailoverConnection


@internal("celery.backends.redis.RedisBackend.set_chord_size")
def _() -> None:
    kept = backend()
    kept.set_chord_size("g", 3)
    assert kept.client.get(kept.get_key_for_group("g", ".s")) == b"3"


@internal("celery.backends.redis.RedisBackend.on_task_call")
def _() -> None:
    asked: list[object] = []
    app = Celery(broker="memory://", set_as_current=False)
    app.backend.on_task_call = lambda producer, task_id: asked.append(task_id)
    app.send_task("a name", task_id="an id", queue="q", retry=False)
    assert asked == ["an id"]


@internal("celery.backends.redis.RedisBackend.remove_pending_result")
def _() -> None:
    asked: list[object] = []
    kept = SimpleNamespace(remove_pending_result=asked.append)
    AsyncResult("an id", backend=kept, app=Celery(set_as_current=False)).__del__()
    assert asked  # once for each message that is sent


@internal("celery.app.base.Celery.send_task")
def _() -> None:
    options = sent_and_received().properties
    assert options["correlation_id"] == "an id"


@internal("kombu.message.Message.headers")
def _() -> None:
    received = sent_and_received()
    written = {"id": "an id", "task": "a name", "argsrepr": "b#7", "group": "g", "group_index": 4, "traceparent": "00"}
    assert {name: received.headers[name] for name in written} == written
    args, _, embedded = received.payload
    assert (args, embedded["chord"]) == (["b", 7], {"task": "the body"})


@internal("celery.worker.strategy.default")
def _() -> None:
    app = Celery(set_as_current=False)
    task = app.task(name="t", shared=False)(fails)
    receive = strategy.default(task, app, consumer_of(app, Hub()))
    assert takes(receive, "message", "body", "ack", "reject", "callbacks")


@internal("celery.app.task.Task.request")
def _() -> None:
    app = Celery(set_as_current=False)
    task = app.task(name="a name", shared=False)(fails)
    message = sent_and_received()
    message.headers["an answer"] = answer = object()  # not JSON: it stays in this process
    request = worker_request.Request(message, app=app, task=task, on_ack=print, on_reject=print)
    assert Context(request.request_dict).get("an answer") is answer


def request_of(kind: type) -> Any:
    """A request as a task makes it that has a class of its own for them."""
    app = Celery(set_as_current=False)
    task = app.task(name="a name", shared=False, Request=kind)(fails)
    assert task.Request is kind
    return kind(sent_and_received(), app=app, task=task, on_ack=print, on_reject=print)


@internal("celery.worker.request.Request.send_event")
def _() -> None:
    told: list[tuple[str, dict[str, Any]]] = []

    class Telling(worker_request.Request):  # type: ignore[misc] # Celery ships no types
        def send_event(self, event: str, **fields: Any) -> None:
            told.append((event, fields))

    settings = SimpleNamespace(time_limit=None, soft_time_limit=None, acks_late=True)
    pool, eventer = SimpleNamespace(apply_async=print), SimpleNamespace(enabled=True)
    made = worker_request.create_request_cls(Telling, settings, pool, "h", eventer)  # as the strategy makes it
    for one in (request_of(Telling), request_of(made)):
        one.on_success((False, "a result", 0.5))
        try:
            fails()
        except AssertionError:
            one.on_failure(ExceptionInfo())
    events = [("task-succeeded", {"result", "runtime"}), ("task-failed", {"exception", "traceback"})]
    assert [(event, set(fields)) for event, fields in told] == [*events, *events]


@internal("celery.worker.request.Request.info")
def _() -> None:
    request = request_of(worker_request.Request)
    assert (request.info(safe=True)["args"], request.info(safe=True)["kwargs"]) == ("b#7", "{}")  # of the headers
    assert request.info()["args"] == ["b", 7]


@internal("celery.backends.redis.RedisBackend.get_task_meta")
def _() -> None:
    kept = backend()
    assert kept.get_task_meta("an id", cache=False)["status"] == "PENDING"
    kept.client.set(kept.get_key_for_task("an id"), kept.encode({"status": "SUCCESS", "result": 7}))
    assert kept.get_task_meta("an id", cache=False) == {"status": "SUCCESS", "result": 7}


@internal("celery.backends.redis.RedisBackend.on_chord_part_return")
def _() -> None:
    kept = backend()
    published: list[object] = []
    kept.app.send_task = lambda name, args, *_, **__: published.append((name, args))
    kept.set_chord_size("g", 2)
    for place in (1, 0, 0):  # the last one came twice
        chord = {"task": "the body", "args": [], "kwargs": {}, "options": {}, "subtask_type": None}
        request = SimpleNamespace(id=f"id {place}", group="g", group_index=place, chord=chord)
        kept.on_chord_part_return(request, "SUCCESS", place)
    assert published == [("the body", ([0, 1],))]


@internal("celery.worker.consumer.Consumer.Blueprint.default_steps")
def _() -> None:
    steps = ConsumerWithoutDelayQueues.Blueprint.default_steps
    assert len(steps) == len(Consumer.Blueprint.default_steps) - 1
    assert "celery.worker.consumer.tasks:Tasks" in steps


@internal("celery.worker.consumer.delayed_delivery.DelayedDelivery")
def _() -> None:
    assert issubclass(DelayedDelivery, bootsteps.StartStopStep)


@internal("celery.worker.consumer.Consumer.create_task_handler")
def _() -> None:
    kept = foreign_messages()
    keyless, listed = Foreign({}), Foreign({"task": ["a list"]})
    handle = kept.consumer.create_task_handler()
    for message in (keyless, listed):
        handle(message)
    assert [message for message, _ in kept.letters] == [keyless, listed]
    consumer = consumer_of(make_app(SETTINGS), Hub())
    taken: list[object] = []
    consumer.strategies = {"a name": lambda message, *_: taken.append(message)}
    message = sent_and_received()
    consumer.create_task_handler()(message)
    assert taken == [message]


@internal("celery.worker.consumer.Consumer.on_unknown_message")
def _() -> None:
    kept = foreign_messages()
    kept.consumer.create_task_handler()(Foreign({}, {"no": "task"}))
    assert "names no task" in kept.letters[0][1]


@internal("celery.worker.consumer.Consumer.on_unknown_task")
def _() -> None:
    kept = foreign_messages()
    handle = kept.consumer.create_task_handler()
    handle(Foreign({"task": "a name", "id": "an id"}))
    handle(Foreign({}, {"task": "a name", "id": "an id"}))  # of Celery's first protocol
    assert ["has no task 'a name'" in why for _, why in kept.letters] == [True, True]


@internal("celery.worker.consumer.Consumer.on_invalid_task")
def _() -> None:
    for error in (InvalidTaskError("it is not"), ContentDisallowed("nor this")):
        kept = foreign_messages(raises=error)
        kept.consumer.create_task_handler()(Foreign({"task": "known", "id": "an id"}))
        assert len(kept.letters) == 1


@internal("celery.worker.consumer.Consumer.on_decode_error")
def _() -> None:
    kept = foreign_messages(raises=DecodeError("no JSON"))
    kept.consumer.create_task_handler()(Foreign({"task": "known", "id": "an id"}))
    assert "no JSON" in kept.letters[0][1]


@internal("celery.exceptions.InvalidTaskError")
def _() -> None:
    assert issubclass(InvalidTaskError, Exception)


@internal("celery.exceptions.NotRegistered")
def _() -> None:
    kept = Celery(backend="cache+memory://", set_as_current=False).backend
    kept.mark_as_failure("an id", NotRegistered("a name"), request=SimpleNamespace(name="n", chord=None, errbacks=None))
    assert kept.get_task_meta("an id")["status"] == "FAILURE"


@internal("celery.worker.consumer.Consumer")
def _() -> None:
    app = make_app(SETTINGS)
    hub = Hub()
    consumer = consumer_of(app, hub)
    assert consumer.hub is hub
    assert consumer.initial_prefetch_count == 8
    assert OSError in consumer.connection_errors
    assert all(hasattr(consumer, name) for name in ("task_consumer", "event_dispatcher", "qos"))


@internal("celery.app.task.Task.Strategy")
def _() -> None:
    app = Celery(set_as_current=False)

    @app.task(name="t", shared=False, Strategy=Strategy())  # type: ignore[untyped-decorator] # Celery ships no types
    def task() -> None: ...

    assert task.start_strategy(app, "consumer") == (app.tasks["t"], app, "consumer")


@internal("celery.worker.state.active_requests")
def _() -> None:
    request = Request()
    with held(state.active_requests, request):
        asked = control.active(type("State", (), {"tset": staticmethod(list)}), safe=True)
        assert asked == [{"id": "an id", "safe": True}]  # what `inspect active` and Flower show


@internal("celery.worker.state.reserved_requests")
def _() -> None:
    request = Request()
    state.task_reserved(request)  # as an aggregate is that waits for the thread
    assert request in state.reserved_requests
    state.task_ready(request)
    assert request not in state.reserved_requests


@internal("celery.worker.state.total_count")
def _() -> None:
    state.total_count["a name"] += 1  # as Celery itself does
    assert state.total_count.pop("a name") == 1


@internal("celery.worker.state.all_total_count")
def _() -> None:
    request, (before,) = Request(), state.all_total_count
    state.task_accepted(request)  # as an aggregate is that begins
    assert state.all_total_count == [before + 1]
    state.task_ready(request)
    state.all_total_count[0] = before
    del state.total_count["a name"]


@internal("celery.worker.state.should_stop")
def _() -> None:
    assert stops("should_stop", WorkerShutdown)


@internal("celery.worker.state.should_terminate")
def _() -> None:
    assert stops("should_terminate", WorkerTerminate)


@internal("celery.app.events.Events.dispatcher_cls")
def _() -> None:
    app = Celery(broker="memory://", set_as_current=False)
    app.events.dispatcher_cls = UnrepeatedEvents
    assert issubclass(app.events.Dispatcher, UnrepeatedEvents)


@internal("celery.events.EventDispatcher.send")
def _() -> None:
    assert {"type", "retry"} <= parameters(EventDispatcher.send)
    assert "retry=retry" in inspect.getsource(Heart._send)  # what is overridden: heartbeats are repeated without an end


@internal("celery.events.EventDispatcher.buffer_limit")
def _() -> None:
    sent = dispatcher()
    sent.buffer_limit = 3
    flushed: list[int] = []
    sent.flush = lambda: flushed.append(1)
    for _ in range(3):
        assert flushed == []
        sent.send("task-started", uuid="u")
    assert flushed == [1]


@internal("celery.events.EventDispatcher.on_send_buffered")
def _() -> None:
    sent = dispatcher()
    buffered: list[int] = []
    sent.on_send_buffered = lambda: buffered.append(1)
    sent.send("task-started", uuid="u")
    sent.on_send_buffered = None
    sent.send("task-started", uuid="u")
    assert buffered == [1]


@internal("celery.apps.worker.Worker")
def _() -> None:
    given = {"concurrency", "loglevel", "pool", "prefetch_multiplier", "task_events"}
    assert given <= parameters(Worker.setup_defaults)
    assert "queues" in parameters(Worker.setup_instance)
    assert "hostname" in parameters(Worker.__init__)


@internal("celery.worker.consumer.Gossip.without_gossip")
def _() -> None:
    assert "without_gossip" in parameters(Gossip.__init__)


@internal("celery.worker.consumer.Mingle.without_mingle")
def _() -> None:
    assert "without_mingle" in parameters(Mingle.__init__)


@internal("celery.apps.worker.Worker.exitcode")
def _() -> None:
    assert Worker.exitcode is None
    assert "exitcode" in parameters(Worker.stop)


@internal("celery.app.trace")
def _() -> None:
    assert trace.logger.name == "celery.app.trace"


@internal("celery.worker.strategy")
def _() -> None:
    assert strategy.logger.name == "celery.worker.strategy"


@internal("celery.worker.control.Panel.data")
def _() -> None:
    assert {name for name, info in control.Panel.meta.items() if info.alias} <= set(control.Panel.data)
    node = Celery(set_as_current=False).control.mailbox.Node("a name", handlers=control.Panel.data)
    assert node.handlers is control.Panel.data  # as the worker makes it: what is put in later is found


@internal("celery.worker.control.conf")
def _() -> None:
    shown = control.conf(SimpleNamespace(app=make_app(SETTINGS)), with_defaults=False)
    assert shown["broker_url"].endswith("@h:6379/0")


@internal("celery.worker.control.report")
def _() -> None:
    assert "broker_url" in control.report(SimpleNamespace(app=make_app(SETTINGS)))["ok"]


@internal("celery.worker.WorkController.stats")
def _() -> None:
    assert takes(WorkController.stats, "self")
    assert control.stats(SimpleNamespace(consumer=SimpleNamespace(controller=SimpleNamespace(stats=dict)))) == {}


@internal("celery.worker.state.requests")
def _() -> None:
    request = Request()
    state.task_reserved(request)  # as Celery's own are
    assert state.requests.pop("an id") is request
    state.reserved_requests.discard(request)


@internal("celery.worker.state.revoked")
def _() -> None:
    state.revoked.update(one for one in ["an id"])
    assert "an id" in state.revoked
    assert control.revoked(None) == ["an id"]
    state.revoked.discard("an id")
    assert worker_request.revoked_tasks is state.revoked  # which a request asks before it is executed


@internal("celery.worker.state.SOFTWARE_INFO")
def _() -> None:
    assert state.SOFTWARE_INFO["sw_ident"] == "py-celery"


@internal("celery.events.EventDispatcher.groups")
def _() -> None:
    sent = dispatcher()
    assert sent.groups == set()  # all
    sent.groups = {"worker"}
    sent.on_send_buffered = lambda: fails()
    sent.send("task-started", uuid="u")


@internal("celery.utils.debug")
def _() -> None:
    assert takes(debug.sample_mem)
    assert takes(debug.memdump, samples=10, file=None)
    assert takes(debug.ps)


@internal("celery.bin.worker")
def _() -> None:
    assert {"hostname", "logfile", "pidfile", "pool"} <= {option.name for option in worker_command.worker.params}


@internal("celery.platforms.create_pidlock")
def _() -> None:
    assert takes(create_pidlock, "a path")


@internal("celery.utils.nodenames.node_format")
def _() -> None:
    assert node_format("%n.log", "w@h") == "w.log"


@internal("celery.app.base.Celery.Worker")
def _() -> None:
    app = Celery(set_as_current=False)
    app.Worker = Strategy
    assert app.Worker is Strategy
