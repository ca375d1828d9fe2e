"""Statements compiled once a process: each test's engine is new, and would compile all that it executes again."""

from collections.abc import Hashable
from typing import Any

from sqlalchemy import Connection, Engine, event
from sqlalchemy.engine import Dialect
from sqlalchemy.util import LRUCache

LARGEST = 5_000  # statements; a run of all tests has fewer


class _Compiled(LRUCache[Any, Any]):
    """Compiled statements of all engines; a dialect counts for what tells its SQL from that of another one."""

    def get(self, key: Any, default: Any = None) -> Any:
        return super().get(_of_kind(key), default)

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(_of_kind(key), value)


def share_compiled() -> None:
    """Let all engines of this process use what one of them has compiled."""
    compiled = _Compiled(LARGEST)

    @event.listens_for(Engine, "engine_connect")
    def use_what_is_compiled(connection: Connection) -> None:
        connection.execution_options(compiled_cache=compiled)


def _of_kind(key: tuple[Dialect, *tuple[Hashable, ...]]) -> Hashable:
    dialect, *others = key
    return (type(dialect), dialect.server_version_info, *others)
