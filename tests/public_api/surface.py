"""The public surface, a line each, the same with every Python: names and defaults, no annotations."""

import importlib
import inspect
from collections.abc import Iterator
from enum import Enum
from functools import cached_property
from pathlib import Path
from typing import Any, get_origin

from pydantic import BaseModel

from tamis_cli.commands.command_list import COMMANDS
from tamis_schemas.batches import wire
from tamis_schemas.operations import OPERATIONS, operation_name
from tamis_worker.config.settings import WorkerSettings

RECORDED = Path(__file__).with_name("recorded.txt")
PACKAGES = ("tamis_schemas", "tamis_producer", "tamis_worker", "tamis_review", "tamis_cli")
PLAIN = (bool, int, float, str, type(None))  # defaults that are shown; any other is "..."


def surface() -> list[str]:
    """Return the lines, sorted."""
    lines = {line for package in PACKAGES for line in _package(package)}
    lines |= {f"setting TAMIS_{name.upper()}" for name in WorkerSettings.model_fields}
    lines |= {f"command tamis {command.name}" for command in COMMANDS}
    lines |= {f"task {wire.task_name(operation_name(operation))}(batch_id, index)" for operation in OPERATIONS}
    lines |= {f"queue {name}" for name in (*wire.ITEM_QUEUES, wire.CONTROL_QUEUE)}
    lines |= {f"task {wire.AGGREGATE}(batch_id, round, shard)", f"keys {wire.KEY_PREFIX}*"}
    return sorted(lines)


def _package(package: str) -> Iterator[str]:
    module = importlib.import_module(package)
    for name in getattr(module, "__all__", ()):
        yield from _named(f"{package}.{name}", getattr(module, name))


def _named(path: str, value: Any) -> Iterator[str]:
    if not inspect.isclass(value):
        is_function = callable(value) and get_origin(value) is None  # some types can be called
        yield f"{path}{_parameters(value)}" if is_function else path
        return
    if issubclass(value, Enum):
        yield from (f"{path}.{member.name} = {member.value}" for member in value)
        return
    bases = [base.__name__ for base in value.__mro__[1:] if issubclass(base, Exception) and base is not Exception]
    yield f"{path}({', '.join(bases)})" if bases else path
    if issubclass(value, BaseModel):
        yield from (f"{path}.{name}" for name in (*value.model_fields, *value.model_computed_fields))
    elif issubclass(value, BaseException):
        return
    else:
        yield from (f"{path}.{name}" for name in getattr(value, "__dataclass_fields__", ()) if not name.startswith("_"))
        yield f"{path}{_parameters(value)}"
    for name, member in inspect.getmembers(value):
        if name.startswith("_") or not _is_ours(value, name):
            continue
        if isinstance(member, property | cached_property):
            yield f"{path}.{name}"
        elif callable(member):
            yield f"{path}.{name}{_parameters(member)}"


def _is_ours(kind: type, name: str) -> bool:
    """True where a class of Tamis defines it, and none of a library alone."""
    return any(name in vars(base) for base in kind.__mro__ if base.__module__.split(".")[0] in PACKAGES)


def _parameters(value: Any) -> str:
    try:
        parameters = inspect.signature(value).parameters.values()
    except ValueError:  # a type of Python's own
        return ""
    words, before = [], None
    for one in parameters:
        if one.name in ("self", "cls") or (one.name.startswith("_") and one.default is not one.empty):
            continue
        if one.kind is one.KEYWORD_ONLY and before not in (one.KEYWORD_ONLY, one.VAR_POSITIONAL):
            words.append("*")
        before = one.kind
        star = {one.VAR_POSITIONAL: "*", one.VAR_KEYWORD: "**"}.get(one.kind, "")
        words.append(f"{star}{one.name}{_default(one.default)}")
    return f"({', '.join(words)})"


def _default(value: object) -> str:
    if value is inspect.Parameter.empty:
        return ""
    if isinstance(value, Enum):
        return f"={value.value!r}"
    return f"={value!r}" if isinstance(value, PLAIN) else "=..."
