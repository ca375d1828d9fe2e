"""The reading of an answer in the shape of its schema, without guessing.

Models without a strict mode answer `"0.9"` for 0.9, `Not_Met` for "not met", `[{...}]` for `{...}`. Such a value is
replaced if it has only one possible meaning, and a note says so. All other values stay, and the operation refuses them.
So 85 does not become the confidence 0.85, and 1 does not become true. A text stays if the schema asks for text.

The module knows these keywords of a schema: type, properties, additionalProperties, items, enum, anyOf. The caller must
resolve references first.
"""

import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from .chat import Schema
from .json_answer import Malformed, read_json

MOST_NOTES = 20  # most notes of one answer; further ones are counted
SHOWN = 40  # characters of a name or value in a note

# The names that models give to an object around their answer. With another name it may be a draft, an example or the
# record, and stays.
WRAPPERS = frozenset(
    {"answer", "assessment", "classification", "data", "decision", "evaluation", "evaluation result", "extract"}
    | {"extract fields", "extracted data", "extraction", "filter", "final", "final answer", "inclusion"}
    | {"inclusion decision", "json", "judge", "judgement", "judgment", "object", "output", "response", "result"}
    | {"results", "score", "screening", "screening decision", "screening result"}
)

_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,39})(?:\.[0-9]{1,40})?")
_BETWEEN_WORDS = re.compile(r"(?<=[^\W_])[\s_-]+(?=[^\W_])")
_READABLE = (str, dict, list)  # the types that a schema may change
_NO_PROPERTIES: Schema = {}
_SCALARS = frozenset({"string", "number", "integer", "boolean"})
_TRUTHS = {"true": True, "false": False, "yes": True, "no": False}  # a filter's prompt asks for "Yes or No"
_BASE_FORMS = {"included": "include", "excluded": "exclude"}


@dataclass(frozen=True, slots=True)
class ReadAnswer:
    """The value of an answer, and a short note about each of its harmless deviations."""

    value: object
    deviations: tuple[str, ...] = ()


def read_answer(content: str, schema: Schema) -> ReadAnswer:
    """Return an answer's value in the shape of its schema. Raise `Malformed` unless the answer is one JSON value."""
    value = read_json(content)
    reading = _Reading()
    if schema.get("type") == "object":
        value = reading.unwrapped(value, schema)
    value = reading.of(value, schema, ())
    return ReadAnswer(value, reading.deviations())


class _Reading:
    """The reading of one answer, with notes about its deviations."""

    __slots__ = ("_by_fold", "_more", "_notes")

    def __init__(self) -> None:
        self._notes: list[str] = []
        self._more = 0
        self._by_fold: dict[int, dict[str, list[str]]] = {}  # the schema's names and values, folded; by the list's id

    def deviations(self) -> tuple[str, ...]:
        return (*self._notes, f"and {self._more} more") if self._more else tuple(self._notes)

    def unwrapped(self, value: object, schema: Schema) -> object:
        """Return the object inside a wrapper; a value without a wrapper is returned unchanged.

        A wrapper is a string that contains the object as JSON, an array of one object, or an object with one field,
        whose name is in `WRAPPERS`.
        """
        if isinstance(value, str) and value.lstrip().startswith("{"):
            with suppress(Malformed):
                value = read_json(value)
                self._note((), "taken out of a string")
        if isinstance(value, list) and len(value) == 1 and isinstance(value[0], dict):
            self._note((), "taken out of an array of one")
            value = value[0]
        if isinstance(value, dict) and len(value) == 1:
            ((name, inner),) = value.items()
            if isinstance(inner, dict) and _folded(name) in WRAPPERS and not self._holds_objects(name, schema):
                self._note((), f"taken out of {_shown(name)}")
                return inner
        return value

    def _holds_objects(self, name: str, schema: Schema) -> bool:
        """Return True if `name` is a property of the schema that may hold an object, so it is no wrapper's name."""
        properties = _properties(schema)
        meant = self._texts(properties).get(_folded(name), ())
        return any(properties[key].get("type") not in _SCALARS for key in meant)

    def of(self, value: object, schema: Schema, place: tuple[str | int, ...]) -> object:
        """Return a value in the shape of its schema; unchanged if that is impossible. `place`: its path, for notes."""
        if isinstance(value, str):
            return self._of_text(value, schema, place)
        if not isinstance(value, dict | list):
            return value
        if "anyOf" in schema:
            kind = "object" if isinstance(value, dict) else "array"
            fitting = [branch for branch in _flat(schema["anyOf"]) if branch.get("type") == kind]
            return self.of(value, fitting[0], place) if len(fitting) == 1 else value
        if isinstance(value, dict):
            return self._of_object(value, schema, place) if schema.get("type") == "object" else value
        return self._of_array(value, schema, place) if schema.get("type") == "array" else value

    def _of_text(self, text: str, schema: Schema, place: tuple[str | int, ...]) -> object:
        read = self._meant_by(text, schema)
        if read is not text:
            kind = "a boolean" if isinstance(read, bool) else _shown(read) if isinstance(read, str) else "a number"
            self._note(place, f"{_shown(text)} read as {kind}")
        return read

    def _meant_by(self, text: str, schema: Schema) -> object:
        """Return the only value that a text can mean under a schema.

        Return the text itself if it is already valid, or if it has no meaning or several.
        """
        if "enum" in schema:
            return text if text in schema["enum"] else self._listed(text, schema["enum"])
        kind = schema.get("type")
        if kind == "boolean" or kind == "number" or kind == "integer":
            plain = _plain(text, kind)
            return text if plain is None else plain
        if "anyOf" not in schema:
            return text
        branches = _flat(schema["anyOf"])
        if any(text in branch["enum"] if "enum" in branch else branch.get("type") == "string" for branch in branches):
            return text
        return _only([read for branch in branches if (read := self._meant_by(text, branch)) is not text], text)

    def _listed(self, text: str, listed: list[Any]) -> object:
        folded, by_fold = _folded(text), self._texts(listed)
        texts = by_fold.get(folded) or by_fold.get(_BASE_FORMS.get(folded, ""))
        if texts is not None:
            return _only(texts, text)
        plain = (_plain(text, "number"), _plain(text, "boolean"))
        return _only([value for read in plain if read is not None for value in listed if _equal(value, read)], text)

    def _of_object(self, value: dict[str, Any], schema: Schema, place: tuple[str | int, ...]) -> dict[str, Any]:
        properties = _properties(schema)
        if not value.keys() <= properties.keys():
            value = self._renamed(value, properties, closed=schema.get("additionalProperties") is False, place=place)
        changed: dict[str, Any] = {}
        for name, part in value.items():
            if name in properties and isinstance(part, _READABLE):
                read = self.of(part, properties[name], (*place, name))
                if read is not part:
                    changed[name] = read
        return value | changed if changed else value

    def _renamed(
        self, value: dict[str, Any], properties: Schema, *, closed: bool, place: tuple[str | int, ...]
    ) -> dict[str, Any]:
        """Return the object with its keys spelled as in the schema. If `closed`, drop keys that the schema lacks."""
        meant, answered = self._texts(properties), _by_fold(value)
        renamed: dict[str, Any] = {}
        for name, part in value.items():
            folded = _folded(name)
            if name in properties or (folded in meant and not len(meant[folded]) == len(answered[folded]) == 1):
                renamed[name] = part  # if two names differ only in case, their meaning is unknown
            elif folded in meant:
                self._note(place, f"{_shown(name)} read as {_shown(meant[folded][0])}")
                renamed[meant[folded][0]] = part
            elif closed:
                self._note(place, f"extra key {_shown(name)} ignored")
            else:
                renamed[name] = part
        return renamed

    def _of_array(self, value: list[Any], schema: Schema, place: tuple[str | int, ...]) -> list[Any]:
        items = schema.get("items")
        if not isinstance(items, dict):
            return value
        read = [self.of(part, items, (*place, n)) for n, part in enumerate(value)]
        return read if any(new is not old for new, old in zip(read, value, strict=True)) else value

    def _texts(self, listed: Iterable[Any]) -> dict[str, list[str]]:
        """Return the texts in a schema's list (an enum, or the names of properties), grouped by their folded form."""
        by_fold = self._by_fold.get(id(listed))
        if by_fold is None:
            by_fold = self._by_fold[id(listed)] = _by_fold(text for text in listed if isinstance(text, str))
        return by_fold

    def _note(self, place: tuple[str | int, ...], words: str) -> None:
        if len(self._notes) >= MOST_NOTES:
            self._more += 1
            return
        where = ".".join(str(step)[:SHOWN] for step in place)[-2 * SHOWN :]
        self._notes.append(f"{where}: {words}" if where else words)


def _properties(schema: Schema) -> Schema:
    return schema.get("properties") or _NO_PROPERTIES


def _plain(text: str, kind: str) -> int | float | bool | None:
    """Return the number or boolean that a text spells; None if the text spells neither."""
    bare = text.strip()
    if kind == "boolean":
        return _TRUTHS.get(bare.lower()) if len(bare) <= len("false") else None
    if not _NUMBER.fullmatch(bare):
        return None
    if "." not in bare:
        return int(bare)
    return None if kind == "integer" else float(bare)


def _equal(left: object, right: object) -> bool:
    """Return True if two JSON values are equal: 1 and 1.0 are, 1 and true are not."""
    return left == right and isinstance(left, bool) is isinstance(right, bool)


def _only(meant: list[Any], otherwise: str) -> object:
    """Return the first value of `meant` if all its values are equal; `otherwise` if they differ or there are none."""
    return meant[0] if meant and all(_equal(value, meant[0]) for value in meant) else otherwise


def _flat(branches: list[Schema]) -> list[Schema]:
    """Return the schemas in an `anyOf`. A nested `anyOf` is replaced by its own schemas."""
    return [flat for branch in branches for flat in (_flat(branch["anyOf"]) if "anyOf" in branch else [branch])]


def _folded(text: str) -> str:
    """Return the text in lower case and stripped, with single spaces in place of `_`, `-` and spaces between words."""
    return _BETWEEN_WORDS.sub(" ", text.strip().casefold())


def _by_fold(names: Iterable[str]) -> dict[str, list[str]]:
    by_fold: dict[str, list[str]] = {}
    for name in names:
        by_fold.setdefault(_folded(name), []).append(name)
    return by_fold


def _shown(text: str) -> str:
    return repr(text if len(text) <= SHOWN else f"{text[:SHOWN]}...")
