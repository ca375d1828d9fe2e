"""The values of BibTeX: the text after a field's `=`, and its meaning in a canonical field.

A value is text in braces or quotes, a number, or a name that `@string` defines. Several of these can be joined by `#`.
"""

import calendar
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from .decision import DECISION_FIELDS, decision_value
from .latex import decode, encode
from .record import bare_doi, split_keywords, year_of
from .source import as_text

MONTHS = {name[:3].lower(): name for name in calendar.month_name[1:]}
LONGEST = 2**20  # most characters of the text of an `@string` name; names made of names grow exponentially

_AND = re.compile(r" and(?= )", re.IGNORECASE)
_MARKS = re.compile(r"(?<!\\)[{}]| and(?= )", re.IGNORECASE)
_PART = re.compile(r"\s*(?:(?P<number>\d+)|(?P<name>[^\s\"#%'(),={}]+)|(?P<open>[{\"]))")
_JOINED = re.compile(r"\s*#")
_MARK = re.compile(r'(?<!\\)[{}"]')
_BLOCK_BEGINS = re.compile(r"\n[^\S\n]*@\w*[ \t]*[{(]")


class Style(StrEnum):
    """The delimiters around a value in a BibTeX file."""

    BRACES = "{"
    QUOTES = '"'
    BARE = ""  # a number, a name, or several values joined


@dataclass(frozen=True)
class Value:
    """A value as written in a file, and as one text."""

    written: str  # without its delimiters
    style: Style
    latex: str  # `written`, with `@string` names replaced by their texts
    names: Mapping[str, str]  # the defined names in the value -> their texts
    unknown: frozenset[str] = frozenset()  # the undefined names in the value


@dataclass
class Macros:
    """The names that a file defines with `@string`, and their texts."""

    defined: dict[str, str] = field(default_factory=dict)

    def read(self, raw: str) -> Value | None:
        """Return the value that the file writes as `raw`, or None if a comma or a quote is missing."""
        if (parts := _parts(raw)) is None:
            return None
        (kind, text), *others = parts
        if not others and kind in ("{", '"'):
            return Value(text, Style(kind), text, {})
        used = [text for kind, text in parts if kind == "name"]
        names = {name: self.defined[name.lower()] for name in used if name.lower() in self.defined}
        value_of_name = {name: MONTHS[name.lower()] for name in used if name.lower() in MONTHS} | names
        latex = "".join(value_of_name.get(text, text) if kind == "name" else text for kind, text in parts)
        return Value(raw, Style.BARE, latex, names, frozenset(used) - value_of_name.keys())

    def define(self, name: str, raw: str) -> bool:
        """Define `name` as the value that a file writes as `raw`. Return False if `raw` is not a value or too long."""
        value = self.read(raw)
        if value is None or len(value.latex) > LONGEST:
            return False
        self.defined[name.lower()] = value.latex
        return True


def _parts(raw: str) -> list[tuple[str, str]] | None:
    """Return the parts of a value that `#` joins: each part's kind (`{`, `"`, number or name) and text.

    Return None if there is other text between the parts.
    """
    parts: list[tuple[str, str]] = []
    at = 0
    while match := _PART.match(raw, at):
        kind, at = str(match.lastgroup), match.end()
        text = match[kind]
        if kind == "open":
            if (end := _end_of(raw, at, text)) is None:
                return None
            kind, text, at = text, raw[at:end], end + 1
        parts.append((kind, text))
        joined = _JOINED.match(raw, at)
        if joined is None:
            return parts if not raw[at:].strip() else None
        at = joined.end()
    return None


def _end_of(raw: str, at: int, opened: str) -> int | None:
    """Return the position of the delimiter that closes the text at `at`. Return None if there is none.

    `opened`: the opening delimiter before `at`, a brace or a quotation mark.
    """
    depth = 0
    for mark in _MARK.finditer(raw, at):
        if depth == 0 and mark[0] == ("}" if opened == "{" else '"'):
            return mark.start()
        depth += {"{": 1, "}": -1}.get(mark[0], 0)
        if depth < 0:
            return None
    return None


def balanced(latex: str) -> bool:
    """Return True if the braces of `latex` are balanced. Escaped braces do not count, as for `bibtexparser`."""
    return _end_of(f"{latex}}}", 0, "{") == len(latex)


def written(latex: str, style: Style) -> str:
    """Return LaTeX with its delimiters, as written in a file: in this style if possible, otherwise in braces."""
    if _BLOCK_BEGINS.search(latex) or not balanced(latex):
        latex, style = encode(latex), Style.BRACES
    in_quotes = style is Style.QUOTES and _end_of(f'{latex}"', 0, '"') == len(latex)
    return f'"{latex}"' if in_quotes else f"{{{latex}}}"


def value_of(key: str, latex: str) -> Any:
    """Return the value of a record's field `key` from the field's text in LaTeX.

    Authors and keywords become lists, and a year a number. Only the abstract and the decision keep line breaks.
    """
    if key == "authors":
        return [name for written_name in _split_names(latex) if (name := decode(written_name).replace("\n", " "))]
    text = decode(latex, typeset=key not in ADDRESSES)
    if key in DECISION_FIELDS:
        return decision_value(key, text)
    if key == "abstract":
        return text
    if key == "keywords":
        return split_keywords(text)
    text = text.replace("\n", " ")
    if key == "year":
        return year if (year := year_of(text)) is not None else text
    return bare_doi(text) if key == "doi" else text


def latex_of(key: str, value: object) -> str:
    """Return a record's value as LaTeX. `key`: the record's name of the field.

    `value_of` restores the value, but a semicolon within a keyword becomes a comma.
    """
    if key == "authors" and isinstance(value, list):
        return " and ".join(_name(text) for name in value if (text := as_text(name)).strip())
    if key == "keywords" and isinstance(value, list):
        plain = "; ".join(as_text(word).replace(";", ",") for word in value)
        return encode(plain if split_keywords(plain) == value else f"{plain};")
    text = as_text(value)
    if key in ADDRESSES and balanced(text) and not re.search(r"[\r\n]", text) and value_of(key, text) == value:
        return text
    return encode(text)


ADDRESSES = frozenset(("doi", "url", "pmid", "nct_id", "id"))  # in these fields, `~`, `--` and `$` are literal


def _name(name: str) -> str:
    latex = encode(name)
    return f"{{{latex}}}" if _AND.search(f" {' '.join(latex.split())} ") or name.strip().lower() == "others" else latex


def _split_names(latex: str) -> Iterator[str]:
    """Yield the authors that `and` separates. In braces, `and` is part of a name: `{Health and Safety Executive}`."""
    latex = " ".join(latex.split())
    depth = start = 0
    for mark in _MARKS.finditer(latex):
        if mark[0] in "{}":
            depth += 1 if mark[0] == "{" else -1
        elif depth == 0:
            yield latex[start : mark.start()]
            start = mark.end()
    if latex[start:].strip().lower() != "others":  # "and others": more authors, without names
        yield latex[start:]
