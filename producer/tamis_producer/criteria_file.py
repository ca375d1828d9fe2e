"""A review's criteria, from a YAML or JSON file that a reviewer writes by hand.

So a mistake is named as the reviewer sees it: the line, the field, what was probably meant.
"""

from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NoReturn

import yaml
from pydantic import ValidationError

from tamis_schemas import InputError, SearchCriteria

from .intake.decode import read_text

EXAMPLE = """\
research_question: Does exercise ease depression in adults?
inclusion_criteria: [randomised controlled trials, adults with depression]
exclusion_criteria: [study protocols]"""

# pydantic's error type -> what to say instead of pydantic's own words.
PLAIN_WORDS = {
    "missing": "is missing",
    "string_too_short": "is empty",
    "list_type": "takes a list: one entry a line, each after `- `",
    "tuple_type": "takes two years: [2010, 2024]",
    "too_short": "takes two years: [2010, 2024]",
    "int_parsing": "takes a year, as a number",
    "int_type": "takes a year, as a number",
    "int_from_float": "takes a year, as a whole number",
}
TWO_YEARS = "date_range"


def read_criteria(path: Path) -> SearchCriteria:
    """The criteria in a YAML or JSON file.

    Raises:
        InputError: naming line and field, where the file is none, or says something that criteria cannot say.
    """
    text = read_text(path)
    root = _parsed(text, path)
    if not isinstance(root, yaml.MappingNode):
        kind = "a list" if isinstance(root, yaml.SequenceNode) else "plain text"
        raise InputError(f"this is {kind}; criteria are named, for example:\n{EXAMPLE}", path=path, line=_line_of(root))
    _check_names(root, path)
    try:
        values = _Loader("").construct_document(root)
    except yaml.MarkedYAMLError as error:
        _raise_syntax(error, path)
    except ValueError as error:  # 2024-13-45 has the form of a date and is none
        raise InputError(f"a value cannot be read: {error}", path=path) from error
    try:
        return SearchCriteria.model_validate(values)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        location = first["loc"] or _field_named_by(first["msg"], root)
        raise InputError(
            _plain(first["type"], first["msg"], first.get("input"), location),
            path=path,
            line=_line_of(_node_at(root, location)),
            field=_dotted(location) or None,
        ) from error


class _Loader(yaml.SafeLoader):
    """Safe, and without aliases: criteria do not need them, and a few lines of them can stand for gigabytes."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            mark = self.get_event().start_mark  # type: ignore[no-untyped-call]  # its stubs leave it out
            raise yaml.composer.ComposerError(None, None, "a text that begins with * must stand in quotes", mark)
        node = super().compose_node(parent, index)
        if isinstance(node, yaml.ScalarNode):
            node.value = _whole_characters(node)
        return node


def _whole_characters(node: yaml.ScalarNode) -> str:
    """JSON writes a character beyond 16 bits as an escaped pair; YAML reads the halves and leaves them apart."""
    try:
        return str(node.value).encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeDecodeError as error:
        raise yaml.composer.ComposerError(None, None, "half of a character", node.start_mark) from error


def _parsed(text: str, path: Path) -> yaml.Node:
    loader: _Loader | None = None
    try:
        loader = _Loader(text)
        root = loader.get_single_node()
    except yaml.MarkedYAMLError as error:
        _raise_syntax(error, path)
    except yaml.YAMLError as error:  # a control character, found before any line is counted
        raise InputError(f"not YAML: {str(error).splitlines()[0]}", path=path) from error
    except RecursionError as error:
        raise InputError("nested far deeper than criteria can be", path=path) from error
    finally:
        if loader is not None:
            loader.dispose()
    if root is None:
        raise InputError(f"the file holds only comments; criteria are named, for example:\n{EXAMPLE}", path=path)
    return root


def _raise_syntax(error: yaml.MarkedYAMLError, path: Path) -> NoReturn:
    mark = error.problem_mark or error.context_mark
    problem = " ".join(part for part in (error.problem, error.context) if part)
    if error.problem and "mapping values are not allowed" in error.problem:
        problem = "a text with a colon in it must stand in quotes"
    raise InputError(f"not YAML: {problem}", path=path, line=None if mark is None else mark.line + 1) from error


def _check_names(root: yaml.MappingNode, path: Path) -> None:
    """Names that stand twice, or that criteria do not have; nested mappings are not criteria at all."""
    known = list(SearchCriteria.model_fields)
    seen: dict[str, int] = {}
    for key, _ in root.value:
        name, line = str(key.value) if isinstance(key, yaml.ScalarNode) else "?", _line_of(key)
        if name in seen:
            raise InputError(f"stands twice; the first is in line {seen[name]}", path=path, line=line, field=name)
        seen[name] = line
        if name not in known:
            near = get_close_matches(name.lower().replace(" ", "_").replace("-", "_"), known, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"the fields are {', '.join(known)}"
            raise InputError(f"unknown field; {hint}", path=path, line=line, field=name)


def _plain(kind: str, message: str, given: Any, location: tuple[int | str, ...]) -> str:
    if kind == "string_type":
        return _not_a_text(given)
    if location and location[0] == TWO_YEARS and kind in ("missing", "too_long"):
        kind = "tuple_type"
    if kind == "list_type" and given is None:
        return "is empty: leave it out, or list entries below it, each after `- `"
    return PLAIN_WORDS.get(kind, message.removeprefix("Value error, "))


def _not_a_text(given: Any) -> str:
    if isinstance(given, dict) and len(given) == 1:
        (name, value), *_ = given.items()
        return f'a text with a colon in it must stand in quotes: "{name}: {value}"'
    if isinstance(given, dict | list):
        return "takes a text, not entries of its own"
    if given is None:
        return "is empty"
    return f"takes a text; YAML reads this as {str(given)!r}: put it in quotes"


def _field_named_by(message: str, root: yaml.MappingNode) -> tuple[str, ...]:
    """The field with which a message about the whole begins, if the file has it."""
    first = message.removeprefix("Value error, ").split()[0]
    return (first,) if any(key.value == first for key, _ in root.value) else ()


def _node_at(root: yaml.Node, location: Iterable[int | str]) -> yaml.Node:
    """The node of a field, or the innermost one around it where the field itself is missing."""
    node = root
    for part in location:
        if isinstance(node, yaml.MappingNode):
            found = next((value for key, value in node.value if key.value == part), None)
        elif isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
            found = node.value[part]
        else:
            found = None
        if found is None:
            break
        node = found
    return node


def _line_of(node: yaml.Node) -> int:
    return int(node.start_mark.line) + 1


def _dotted(location: tuple[int | str, ...]) -> str:
    """`inclusion_criteria[2]`, counted from 1 as a reader counts."""
    text = ""
    for part in location:
        text += f"[{part + 1}]" if isinstance(part, int) else f".{part}" if text else part
    return text
