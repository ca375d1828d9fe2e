"""Names of a package that are imported when they are first asked for: a command starts without what it does not use."""

import re
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

_EXPORT = re.compile(r"^from \.(\S+) import (\w+) as \2$", re.MULTILINE)


def exports(package: str, file: str) -> tuple[Callable[[str], Any], list[str]]:
    """The `__getattr__` (PEP 562) and the `__all__` of a package, for the names that the stub beside `file` imports.

    So the stub, which type checkers read, is the only list of them.
    """
    stub = Path(file).with_suffix(".pyi").read_text("utf-8")
    home_of = {name: module for module, name in _EXPORT.findall(stub)}

    def export(name: str) -> Any:
        if name not in home_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"{package}.{home_of[name]}"), name)

    return export, sorted(home_of)
