"""The docstrings, comments and names of the packages."""

import ast
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = (
    "schemas/tamis_schemas",
    "producer/tamis_producer",
    "worker/tamis_worker",
    "review/tamis_review",
    "cli/tamis_cli",
)
# A tenth of the time that Python's own tokens take. What looks like a comment within a string is a part of the string.
_STRING_OR_COMMENT = re.compile(
    r"""(\"{3}|'{3})(?:\\.|(?!\1).)*\1|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|\#[^\n]*""", re.DOTALL
)
Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Source:
    """One module: `name` is its path from the root of the source."""

    name: str
    docstrings: list[tuple[Documented, str]]
    comments: list[str]
    variables: Counter[str]  # reads and writes of each variable, and parameters
    classes: list[str]
    names: set[str]  # of classes, functions, fields, imports and attributes, and the words of string constants

    @property
    def prose(self) -> str:
        return " ".join([*(text for _, text in self.docstrings), *self.comments])


def read_source() -> list[Source]:
    """Return every module of the five packages, in the order of their paths; migrations are left out."""
    paths = [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]
    return [_read(path) for path in paths if "versions" not in path.parts]


def _read(path: Path) -> Source:
    text = path.read_text("utf-8")
    tree = ast.parse(text)
    nodes = list(ast.walk(tree))
    documented: list[Documented] = [node for node in nodes if isinstance(node, Documented)]
    docstrings = [(node, docstring) for node in documented if (docstring := ast.get_docstring(node))]
    return Source(
        name=path.relative_to(ROOT).as_posix(),
        docstrings=docstrings,
        comments=[part[0].lstrip("# ") for part in _STRING_OR_COMMENT.finditer(text) if part[0].startswith("#")],
        variables=Counter(node.id for node in nodes if isinstance(node, ast.Name))
        + Counter(node.arg for node in nodes if isinstance(node, ast.arg)),
        classes=[node.name for node in nodes if isinstance(node, ast.ClassDef)],
        names=_names(nodes, {id(node.body[0].value) for node, _ in docstrings if isinstance(node.body[0], ast.Expr)}),
    )


def _names(nodes: list[ast.AST], docstrings: set[int]) -> set[str]:
    names: set[str] = set()
    for node in nodes:
        match node:
            case ast.Attribute(attr=name) | ast.keyword(arg=str(name)) | ast.AnnAssign(target=ast.Name(id=name)):
                names.add(name)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                names.add(name)
            case ast.alias(name=name):
                names.update(name.split("."))
            case ast.Constant(value=str(value)) if id(node) not in docstrings:
                names.update(re.findall(r"\w+", value))
            case _:
                pass
    return names
