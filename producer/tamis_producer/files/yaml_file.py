"""A YAML (or JSON) file that a person wrote: its values, and their lines for error messages."""

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NoReturn

import yaml

from tamis_schemas import InputError

from .decode import read_text

Location = tuple[int | str, ...]  # path to a value: names of fields, places in lists from 0


@dataclass(frozen=True)
class YamlFile:
    """A file with a mapping at its top level.

    `values` has the mapping as plain values; `line` returns the line of a value.
    """

    path: Path
    values: dict[str, Any]
    root: yaml.MappingNode

    def at(self, location: Location) -> Any:
        """Return the value at a location: names of fields, and places in lists from 0. The value must exist."""
        value: Any = self.values
        for part in location:
            value = value[part]
        return value

    def line(self, location: Iterable[int | str] = ()) -> int:
        """Return the line, from 1, of the value at a location. A missing value has the line of the value around it."""
        return _line_of(_node_at(self.root, location))

    def wrong(self, message: str, location: Location = ()) -> InputError:
        """Return the error `message` about the value at a location."""
        return InputError(message, path=self.path, line=self.line(location), field=dotted(location) or None)

    def check_names(self, names: Iterable[str], location: Location = ()) -> None:
        """Raise `InputError` for repeated or unknown names in the mapping at a location.

        The message has line and field, and suggests a name.
        """
        allowed = list(names)
        node = _node_at(self.root, location)
        seen: dict[str, int] = {}
        for key, _ in node.value if isinstance(node, yaml.MappingNode) else ():
            name, line = str(key.value) if isinstance(key, yaml.ScalarNode) else "?", _line_of(key)
            field = dotted((*location, name))
            if name in seen:
                raise InputError(
                    f"occurs twice; the first is in line {seen[name]}", path=self.path, line=line, field=field
                )
            seen[name] = line
            if name not in allowed:
                near = get_close_matches(name.lower().replace(" ", "_").replace("-", "_"), allowed, n=1)
                hint = f"did you mean {near[0]!r}?" if near else f"the fields are {', '.join(allowed)}"
                raise InputError(f"unknown field; {hint}", path=self.path, line=line, field=field)


def read_yaml(path: Path | str, *, what: str, example: str) -> YamlFile:
    """Return the mapping in a YAML or JSON file.

    `what`: the name of the content in error messages. `example`: a valid text that these messages show. Raises
    `InputError` with the line if the file cannot be read, is not YAML, or has no mapping.
    """
    path = Path(path)
    root = _parsed(read_text(path), path, what, example)
    if not isinstance(root, yaml.MappingNode):
        kind = "a list" if isinstance(root, yaml.SequenceNode) else "plain text"
        raise InputError(
            f"this is {kind}, but {what} must have named fields, for example:\n{example}",
            path=path,
            line=_line_of(root),
        )
    for key, _ in root.value:
        if not isinstance(key, yaml.ScalarNode):
            raise InputError("unknown field; its name must be a word", path=path, line=_line_of(key), field="?")
    try:
        values = _Loader("").construct_document(root)
    except yaml.MarkedYAMLError as error:
        _raise_syntax(error, path)
    except ValueError as error:  # 2024-13-45 has the form of a date, but is not one
        raise InputError(f"a value cannot be read: {error}", path=path) from error
    return YamlFile(path, values, root)


def dotted(location: Location) -> str:
    """Return a location as text, for example `inclusion_criteria[2]`. Elements of lists are counted from 1."""
    text = ""
    for part in location:
        text += f"[{part + 1}]" if isinstance(part, int) else f".{part}" if text else part
    return text


class _Loader(yaml.SafeLoader):
    """A safe loader without aliases: people do not need aliases, and a few lines of them can expand to gigabytes."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            mark = self.get_event().start_mark  # type: ignore[no-untyped-call]  # its stubs leave it out
            raise yaml.composer.ComposerError(None, None, "put a text that begins with * in quotes", mark)
        node = super().compose_node(parent, index)
        if isinstance(node, yaml.ScalarNode):
            node.value = _whole_characters(node)
        return node


def _whole_characters(node: yaml.ScalarNode) -> str:
    """Return the text with surrogate pairs joined: JSON escapes a character beyond 16 bits as two halves."""
    try:
        return str(node.value).encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeDecodeError as error:
        raise yaml.composer.ComposerError(None, None, "an incomplete character", node.start_mark) from error


def _parsed(text: str, path: Path, what: str, example: str) -> yaml.Node:
    loader: _Loader | None = None
    try:
        loader = _Loader(text)
        root = loader.get_single_node()
    except yaml.MarkedYAMLError as error:
        _raise_syntax(error, path)
    except yaml.YAMLError as error:  # a control character, found before lines are counted
        raise InputError(f"not YAML: {str(error).splitlines()[0]}", path=path) from error
    except RecursionError as error:
        raise InputError(f"nested too deeply for {what}", path=path) from error
    finally:
        if loader is not None:
            loader.dispose()
    if root is None:
        raise InputError(
            f"the file has only comments, but {what} must have named fields, for example:\n{example}", path=path
        )
    return root


def _raise_syntax(error: yaml.MarkedYAMLError, path: Path) -> NoReturn:
    mark = error.problem_mark or error.context_mark
    problem = " ".join(part for part in (error.problem, error.context) if part)
    if error.problem and "mapping values are not allowed" in error.problem:
        problem = "put a text with a colon in quotes"
    raise InputError(f"not YAML: {problem}", path=path, line=None if mark is None else mark.line + 1) from error


def _node_at(root: yaml.Node, location: Iterable[int | str]) -> yaml.Node:
    node = root
    for part in location:
        if isinstance(node, yaml.MappingNode):
            inner = next((value for key, value in node.value if key.value == part), None)
        elif isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
            inner = node.value[part]
        else:
            inner = None
        if inner is None:
            break
        node = inner
    return node


def _line_of(node: yaml.Node) -> int:
    return int(node.start_mark.line) + 1
