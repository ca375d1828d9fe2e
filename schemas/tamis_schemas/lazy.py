"""Names of a package that are imported when they are first asked for: a command starts without what it does not use."""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def exports(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """The `__getattr__` of a package: `homes` names, for each of its modules, the names that it exports (PEP 562)."""
    home_of = {name: module for module, names in homes.items() for name in names.split()}

    def export(name: str) -> Any:
        if name not in home_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"{package}.{home_of[name]}"), name)

    return export
