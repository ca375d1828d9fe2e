"""The options of `celery worker`: the options that a worker of Tamis uses, and the replacements for other options.

Celery silently drops options that an application does not read. Tamis either uses an option or refuses to start the
worker.
"""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from celery.platforms import create_pidlock
from celery.utils.nodenames import node_format
from click.core import ParameterSource

GIVEN = (ParameterSource.COMMANDLINE, ParameterSource.ENVIRONMENT)
POOL = "celery.concurrency.thread"  # of every worker, for aggregates: `--pool threads`
SERVERS = {"CELERY_BROKER_URL": "TAMIS_BROKER_URL", "CELERY_RESULT_BACKEND": "TAMIS_RESULT_BACKEND_URL"}

# Options that Celery reads before the worker is made, or that hold for every worker.
BY_CELERY = frozenset(
    {"detach", "executable", "gid", "task_events", "uid", "umask", "without_gossip", "without_mingle"}
)
HERE = frozenset({"hostname", "logfile", "loglevel", "pidfile"})

_ITEMS_AT_ONCE = "TAMIS_CONCURRENCY sets how many items a worker has in flight"
_TIME_LIMIT = "TAMIS_CALL_TIMEOUT limits a call, and TAMIS_ITEM_DEADLINE an item"
_NO_CHILDREN = "a worker is one process without children; a supervisor restarts it"
_QUEUES = "every worker serves all queues; `tamis priority BATCH` changes how soon a batch is served"
_BEAT = "Tamis uses no Celery beat"
_HEARTBEAT = "Flower shows a worker without heartbeats as offline"
REFUSED: Mapping[str, str] = {
    "autoscale": f"{_ITEMS_AT_ONCE}; start more workers if one is not enough",
    "beat": _BEAT,
    "concurrency": _ITEMS_AT_ONCE,
    "disable_prefetch": _ITEMS_AT_ONCE,
    "exclude_queues": _QUEUES,
    "heartbeat_interval": _HEARTBEAT,
    "include": "a worker runs only the tasks of Tamis; run yours in a worker of your own application",
    "max_memory_per_child": _NO_CHILDREN,
    "max_tasks_per_child": _NO_CHILDREN,
    "optimization": "it cannot be changed: the worker takes messages as items end",
    "pool": f"items need no pool; {_ITEMS_AT_ONCE}",
    "pool_start_method": _NO_CHILDREN,
    "prefetch_multiplier": _ITEMS_AT_ONCE,
    "purge": "`celery -A tamis_worker.celery purge` empties the queues, and the workers fill them again",
    "queues": _QUEUES,
    "schedule_filename": _BEAT,
    "scheduler": _BEAT,
    "soft_time_limit": _TIME_LIMIT,
    "statedb": "the ledger knows which items are cancelled",
    "time_limit": _TIME_LIMIT,
    "without_heartbeat": _HEARTBEAT,
}


@dataclass(frozen=True)
class WorkerOptions:
    """The options of `celery worker` that the worker uses. An option that is not set is None."""

    name: str | None = None
    log_level: int | None = None
    pid_file: str | None = None

    @classmethod
    def read(cls, options: Mapping[str, Any], servers: Mapping[str, str]) -> "WorkerOptions":
        """Return the options that the worker uses.

        `servers` maps a variable, such as `TAMIS_BROKER_URL`, to the URL in the worker's settings. Raise
        `click.UsageError` if an option is not supported. The error names the option's replacement.
        """
        chosen = _given(options)
        if getattr(chosen.get("pool"), "__module__", None) == POOL:
            del chosen["pool"]
        for name in chosen:
            if name in REFUSED:
                raise click.UsageError(f"--{name.replace('_', '-')}: {REFUSED[name]}")
        if unknown := [*sorted(chosen.keys() - BY_CELERY - HERE), *_configuration()]:
            raise click.UsageError(f"{unknown[0]}: only TAMIS_ variables configure a worker")
        for variable, ours in SERVERS.items():
            if os.environ.get(variable, servers[ours]) != servers[ours]:
                raise click.UsageError(f"{variable} (-b, --result-backend) names another server than {ours}")
        return cls(chosen.get("hostname"), chosen.get("loglevel"), chosen.get("pidfile"))

    def lock(self) -> None:
        """Write the process's id into the file that `pid_file` names, if that option is set.

        If another running process owns that file, end this process.
        """
        if self.pid_file is not None:
            create_pidlock(self.pid_file)


def write_into_log_file(options: Mapping[str, Any]) -> None:
    """Redirect this process's output to the file that `--logfile` names, if that option is set.

    Call this function before any message about the options, because a process in the background has no other output.
    """
    path = _given(options).get("logfile")
    if path is None:
        return
    with Path(node_format(path, options.get("hostname"))).open("ab") as log:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
            os.dup2(log.fileno(), stream.fileno())


def _given(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that the command line or the environment sets. If no command runs, return all set options."""
    context = click.get_current_context(silent=True)
    if context is None:
        return {name: value for name, value in options.items() if value is not None}
    chosen = {name for name in context.params if context.get_parameter_source(name) in GIVEN}
    return {name: value for name, value in context.params.items() if name in chosen}


def _configuration() -> list[str]:
    """Return the settings of Celery at the end of the command line, such as `worker.prefetch_multiplier=4`."""
    context = click.get_current_context(silent=True)
    return [] if context is None else list(context.args)
