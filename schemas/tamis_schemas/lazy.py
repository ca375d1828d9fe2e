"""Lazy imports of a package's names, so that a command imports only the parts that it uses."""

import re
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

_EXPORT = re.compile(r"^from \.(\S+) import (\w+) as \2$", re.MULTILINE)


def exports(package: str, file: str) -> tuple[Callable[[str], Any], list[str]]:
    """Return the lazy `__getattr__` (PEP 562) and the `__all__` of a package, both made from the stub beside `file`."""
    stub = Path(file).with_suffix(".pyi").read_text("utf-8")
    home_of = {name: module for module, name in _EXPORT.findall(stub)}

    def export(name: str) -> Any:
        if name not in home_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"{package}.{home_of[name]}"), name)

    return export, sorted(home_of)
