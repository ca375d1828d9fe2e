"""Remote control: this module replaces or refuses commands of `celery control` and `celery inspect`.

Those commands act on Celery's thread pool, requests and rate limits. Items use none of these, so Celery's own commands
would report success without effect. A replacement acts on the worker's engine, which evaluates items. All other
commands of Celery stay unchanged.
"""

import io
import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias
from uuid import UUID

from celery.utils import debug
from celery.worker import control, state
from celery.worker.control import Panel

from tamis_schemas import Unavailable

from ..ledger.claims import ItemKey
from .delivery import Delivery, named_by
from .item_strategy import Revocations

_ITEMS_AT_ONCE = (
    "items need no thread of a pool. TAMIS_CONCURRENCY sets how many items a worker has in flight: change it and "
    "restart the worker, or start more workers"
)
_ALL_QUEUES = (
    "every worker serves all queues of Tamis by weighted turns, and no others. `tamis priority BATCH` changes how soon "
    "a batch is served, `tamis pause BATCH` pauses it"
)

REFUSED: Mapping[str, str] = {
    "rate_limit": (
        "the limit is on calls to a model, for all workers and operations together. Set TAMIS_LIMIT_RPM, "
        "TAMIS_LIMIT_TPM and TAMIS_LIMIT_CONCURRENCY, and restart the workers"
    ),
    "time_limit": (
        "the pool cuts off no item. Set TAMIS_CALL_TIMEOUT for calls and TAMIS_ITEM_DEADLINE for items, and "
        "restart the workers; `revoke` ends a single item"
    ),
    "pool_grow": _ITEMS_AT_ONCE,
    "pool_shrink": _ITEMS_AT_ONCE,
    "pool_restart": "there are no child processes: stop the worker (`shutdown`) and start it again",
    "autoscale": _ITEMS_AT_ONCE,
    "add_consumer": _ALL_QUEUES,
    "election": "workers need no election: a lock in the ledger protects work for all of them",
}

Command: TypeAlias = Callable[..., Any]
Reply: TypeAlias = dict[str, Any]

# Celery's commands that are correct here without change.
KEPT = frozenset(
    {"active_queues", "cancel_consumer", "clock", "hello", "objgraph", "ping", "registered", "revoked", "scheduled"}
)
WORKER_EVENTS = "worker"  # the group of events that a worker without task events still sends
LABELS = 3  # of items, in one reply
HEARTBEAT_EVERY = 5  # seconds, as in Celery's own command

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class EngineControls:
    """The functions of the worker that the remote commands call, on the consumer's thread.

    `report`, `cancel_items` and `cancel_waiting` wait for the worker's event loop. These three raise `TimeoutError` if
    the loop takes too long. `cancel_items` and `cancel_waiting` also raise `LedgerUnavailable`.
    """

    report: Callable[[], Mapping[str, Any]]  # returns the engine's present figures
    settings: Callable[[], Mapping[str, Any]]  # returns the settings without secrets
    cancel_items: Callable[[Sequence[ItemKey]], int]  # cancels the waiting items with these keys; returns their number
    cancel_waiting: Callable[[Collection[UUID]], int]  # cancels all waiting items of these batches; returns the number
    is_claimed: Callable[[ItemKey], bool]  # True: the item is being evaluated in this process
    drain: Callable[[], None]  # finishes items in flight, and returns waiting ones
    redact: Callable[[str], str]


@dataclass(eq=False)
class RemoteControl:
    """The commands of `celery control` and `celery inspect` in one worker process."""

    revocations: Revocations
    engine: EngineControls

    def install(self) -> None:
        """In this process, replace Celery's commands by those that `commands` returns, under all of their aliases."""
        celerys = dict(Panel.data)
        ours = {id(celerys[name]): command for name, command in self.commands().items()}
        Panel.data.update({name: ours[id(usual)] for name, usual in celerys.items() if id(usual) in ours})

    def commands(self) -> dict[str, Command]:
        """Return the replacements of Celery's commands, with the commands' names as keys."""
        return {
            **{name: partial(_refuse, reason) for name, reason in REFUSED.items()},
            "active": self.active,
            "conf": self._without_secrets(self.conf),
            "disable_events": disable_events,
            "enable_events": enable_events,
            "heartbeat": heartbeat,
            "memdump": memdump,
            "memsample": memsample,
            "query_task": self.query_task,
            "report": self._without_secrets(control.report),
            "reserved": self.reserved,
            "revoke": self.revoke,
            "revoke_by_stamped_headers": self.revoke_by_stamped_headers,
            "shutdown": self.shutdown,
            "stats": self._without_secrets(self.stats),
            "terminate": self.terminate,
        }

    # Items

    def revoke(self, _: Any, task_id: object, terminate: bool = False, **__: object) -> Reply:
        """Cancel the items of these tasks. If `terminate` is True, also cut off the items' calls in flight."""
        ids = [task_id] if isinstance(task_id, str) else list(dict.fromkeys(_list(task_id)))
        if not ids:
            return _error("name the id of a task")
        requests = {id_: state.requests[id_] for id_ in ids if id_ in state.requests}
        here = {id_: request for id_, request in requests.items() if isinstance(request, Delivery)}
        state.revoked.update(id_ for id_ in ids if id_ in here or id_ not in requests)
        going_on = self.revocations.revoke(here.values(), cut=terminate)
        words = _revoked(going_on, cut=terminate)
        if len(here) > len(going_on):
            words.append(f"ended already: {len(here) - len(going_on)}")
        if elsewhere := len(ids) - len(requests):
            words.append(f"not here: {elsewhere} (if an item arrives with this id, it is cancelled)")
        log.info("revoked by remote control: %s", "; ".join(words))
        if len(requests) > len(here):
            words.append(f"no items: {len(requests) - len(here)} (they close shards without calls, and continue)")
            return _error("; ".join(words))
        return _ok("; ".join(words))

    def terminate(self, panel: Any, signal: object, task_id: object, **_: object) -> Reply:
        """Cancel items, and cut off their calls in flight. The signal is ignored, because there is no child process."""
        return self.revoke(panel, task_id, terminate=True)

    def revoke_by_stamped_headers(self, _: Any, headers: object, terminate: bool = False, **__: object) -> Reply:
        """Cancel the items that `headers` name: all items that wait for a worker, and the items in this process.

        If `terminate` is True, also cut off calls in flight in this process.
        """
        try:
            named = named_by(headers)
        except ValueError as error:
            return _error(str(error))
        here = [delivery for delivery in self.revocations.deliveries() if delivery.key in named]
        words = _revoked(self.revocations.revoke(here, cut=terminate), cut=terminate)
        try:
            waited = self.engine.cancel_items(sorted(named.keys, key=lambda key: key.index)) if named.keys else 0
            waited += self.engine.cancel_waiting(named.batch_ids) if named.batch_ids else 0
        except (Unavailable, TimeoutError) as error:
            unreached = f"some waiting items were perhaps not cancelled: {str(error) or 'the ledger is slow to answer'}"
            return _error("; ".join([*words, unreached]))
        words.append(f"cancelled before they began: {waited}")
        log.info("revoked by remote control: %s", "; ".join(words))
        return _ok("; ".join(words))

    def active(self, _: Any, safe: bool = False, **__: object) -> list[dict[str, Any]]:
        """Return the items that this process evaluates, and its running tasks that close shards (parts of a batch)."""
        return [request.info(safe=safe) for request in list(state.active_requests) if self._is_active(request)]

    def reserved(self, _: Any, **__: object) -> list[dict[str, Any]]:
        """Return the tasks that were received but not begun: items not yet claimed, and tasks that close shards."""
        taken = {*state.reserved_requests, *state.active_requests}
        return [request.info() for request in taken if not self._is_active(request)]

    def query_task(self, _: Any, ids: object, **__: object) -> dict[str, tuple[str, dict[str, Any]]]:
        """Map each of these ids that a task of this process has to the task's state and fields.

        The state is `active` or `reserved`.
        """
        wanted = [ids] if isinstance(ids, str) else _list(ids)
        here = [state.requests[id_] for id_ in wanted if id_ in state.requests]
        return {request.id: ("active" if self._is_active(request) else "reserved", request.info()) for request in here}

    def _is_active(self, request: Any) -> bool:
        if isinstance(request, Delivery):  # of two messages of one item, both count
            return self.engine.is_claimed(request.key)
        return request in state.active_requests

    # The worker

    def stats(self, panel: Any, **_: object) -> Reply:
        """Return Celery's figures of the process and, under the key `tamis`, the figures of the engine."""
        return {**panel.consumer.controller.stats(), "tamis": dict(self.engine.report())}

    def conf(self, panel: Any, with_defaults: bool = False, **_: object) -> Reply:
        """Return Celery's configuration and, under the key `tamis`, the settings of the worker."""
        return {**control.conf(panel, with_defaults=with_defaults), "tamis": dict(self.engine.settings())}

    def shutdown(self, _: Any, msg: str = "Got shutdown from remote", **__: object) -> Reply:
        """Stop the worker as on SIGTERM: it finishes calls in flight, and releases waiting items."""
        log.warning("the worker stops by remote control: %s", msg)
        self.engine.drain()
        state.should_stop = 0
        return _ok("the worker stops: calls in flight finish, waiting items are released")

    def _without_secrets(self, command: Command) -> Command:
        def reply(panel: Any, **arguments: Any) -> Any:
            return _redacted(command(panel, **arguments), self.engine.redact)

        return reply


def enable_events(panel: Any) -> Reply:
    """Start to send the events of tasks."""
    if (dispatcher := panel.consumer.event_dispatcher) is None:
        return _error("there is no connection for events at the moment")
    sent = not dispatcher.groups or "task" in dispatcher.groups
    dispatcher.groups.clear()  # without groups, all events are sent
    return _ok("task events already enabled" if sent else "task events enabled")


def disable_events(panel: Any) -> Reply:
    """Stop sending the events of tasks. The events of the worker continue.

    Celery's own command has no effect in the initial state, when events of all groups are sent.
    """
    if (dispatcher := panel.consumer.event_dispatcher) is None:
        return _error("there is no connection for events at the moment")
    sent = not dispatcher.groups or "task" in dispatcher.groups
    dispatcher.groups = {WORKER_EVENTS}
    return _ok("task events disabled" if sent else "task events already disabled")


def heartbeat(panel: Any) -> Reply:
    """Send a heartbeat event now."""
    if (dispatcher := panel.consumer.event_dispatcher) is None:
        return _error("there is no connection for events at the moment")
    dispatcher.send("worker-heartbeat", freq=HEARTBEAT_EVERY, **state.SOFTWARE_INFO)
    return _ok("the event is sent")


def memsample(_: Any, **__: object) -> Any:
    """Return the resident memory of the process, and keep this sample for `memdump`."""
    sample = debug.sample_mem()
    return _no_psutil() if sample is None else sample


def memdump(_: Any, samples: int = 10, **__: object) -> Any:
    """Return a text with some of the samples that `memsample` kept, and the memory after a garbage collection."""
    if debug.ps() is None:
        return _no_psutil()
    out = io.StringIO()
    debug.memdump(samples=samples, file=out)
    return out.getvalue()


def _no_psutil() -> Reply:
    return _error("psutil is not installed on the worker's machine: `maxrss` of `inspect stats` is the peak memory")


def _refuse(reason: str, _: Any, **__: object) -> Reply:
    return _error(reason)


def _revoked(deliveries: Sequence[Delivery], *, cut: bool) -> list[str]:
    calls = "calls in flight are cut off" if cut else "calls in flight finish first"
    labels = [delivery.args for delivery in deliveries[:LABELS]] + ["..."] * (len(deliveries) > LABELS)
    return [f"cancelled here: {len(deliveries)}" + (f" ({', '.join(labels)}; {calls})" if deliveries else "")]


def _list(value: object) -> list[Any]:
    return list(value) if isinstance(value, list | tuple | set | frozenset) else []


def _redacted(value: Any, redact: Callable[[str], str]) -> Any:
    match value:
        case str():
            return redact(value)
        case Mapping():
            return {name: _redacted(part, redact) for name, part in value.items()}
        case list() | tuple():
            return [_redacted(part, redact) for part in value]
    return value


def _ok(words: str) -> Reply:
    return {"ok": words}


def _error(words: str) -> Reply:
    return {"error": words}
