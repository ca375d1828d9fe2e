"""What the code uses of other packages without their promise: in the source, and in docs/celery-internals.md."""

import ast
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from inspect import getmodule, getsource, signature
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = "docs/celery-internals.md"
FLOORS = ("schemas", "producer", "worker", "review", "cli")

Check = Callable[[], None]


class Contract(dict[str, Check]):
    """An assertion for each internal, by its dotted name."""

    def internal(self, name: str) -> Callable[[Check], Check]:
        """Add the assertion that is decorated."""

        def add(check: Check) -> Check:
            assert name not in self, name
            self[name] = check
            return check

        return add


def parameters(function: Callable[..., object]) -> set[str]:
    """The names of a function's parameters: what swallows all options by `**` has none of them."""
    return set(signature(function).parameters)


def takes(function: Callable[..., object], *args: object, **named: object) -> bool:
    """Whether a function can be called so."""
    with suppress(TypeError):
        signature(function).bind(*args, **named)
        return True
    return False


def on_the_page(section: str) -> dict[str, set[str]]:
    """The internals of a section of the page, each with the files that it stands under."""
    text = read(PAGE).split(f"\n## {section}\n")[1].split("\n## ")[0]
    files: dict[str, set[str]] = {}
    for part in text.split("\n### ")[1:]:
        (file,) = re.findall(r"`([\w/.]+\.py)`", part.splitlines()[0])
        for names in re.findall(r"^- ((?:`[\w.]+`(?:,\s+)?)+): ", part, re.MULTILINE):
            for name in re.findall(r"`([\w.]+)`", names):
                files.setdefault(name, set()).add(file)
    return files


def read(file: str) -> str:
    """The text of a file, by its path from the root."""
    return (ROOT / file).read_text("utf-8")


def sources(*places: str) -> Iterator[tuple[str, str]]:
    """The Python files that are named, or below some folders, each with its text."""
    for place in places:
        top = ROOT / place
        for path in [top] if top.is_file() else sorted(top.rglob("*.py")):
            yield str(path.relative_to(ROOT)), path.read_text("utf-8")


def imported(*packages: str) -> Iterator[tuple[str, str]]:
    """Each file of the three floors with what it imports from packages, at any depth, by its dotted name."""
    mentions = re.compile(rf"^\s*(?:from|import) (?:{'|'.join(packages)})\b", re.MULTILINE)
    for file, text in sources(*FLOORS):
        for node in ast.walk(ast.parse(text)) if mentions.search(text) else ():
            names: list[str] = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                names = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from ((file, name) for name in names if name.split(".")[0] in packages)


def private_attributes(text: str) -> Iterator[str]:
    """The attributes with an underscore that a file reads or sets of other objects."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Attribute) and _private(node.attr):
            owner = node.value
            if not (isinstance(owner, ast.Name) and owner.id in ("self", "cls")):
                yield node.attr


def own_private_names(kind: type) -> set[str]:
    """The attributes with an underscore that a class, but for its bases, reads or sets of itself."""
    return {name for name in vars(kind) if _private(name)} | _of_self(getsource(kind))


def private_names_of_bases(kind: type) -> set[str]:
    """The same of everything that it inherits from, and of their neighbours."""
    bases = [base for base in kind.__mro__[1:] if base.__module__.split(".")[0] not in ("builtins", "abc", "typing")]
    named = {name for base in bases for name in vars(base) if _private(name)}
    modules = [module for base in bases if (module := getmodule(base)) is not None]
    return named.union(*(_of_self(getsource(module)) for module in modules))


def _of_self(source: str) -> set[str]:
    attributes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Attribute)]
    return {
        node.attr
        for node in attributes
        if _private(node.attr) and isinstance(node.value, ast.Name) and node.value.id == "self"
    }


def _private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")
