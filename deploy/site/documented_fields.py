"""Docstrings for fields that have none: the comment at a field's line, and for a mirrored method the method it mirrors.

A session in a docstring is shown as code.

Griffe loads this extension while the site's API reference is built (`mkdocs.yml`); nothing of it is installed.
"""

import io
import re
import tokenize
from typing import Any

import griffe

# `wait = awaited(Batch.wait)` in the asynchronous classes: what the caller does with it.
_MIRRORED = re.compile(r"^(awaited|awaited_as|iterated|on_thread|iterated_as)\((Client|Batch|Review)\.(\w+)")
_CALLED = {
    "awaited": "awaited",
    "awaited_as": "awaited",
    "on_thread": "awaited; it runs on a thread",
    "iterated": "iterated over with `async for`",
}


_SESSION = re.compile(r"^>>> .*(?:\n.+)*", re.MULTILINE)  # to the next empty line


class DocumentedFields(griffe.Extension):
    """Gives each attribute of the sources the words that stand beside it."""

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        """Called for each object once it is complete."""
        if obj.docstring is not None:
            obj.docstring.value = _SESSION.sub(r"```pycon\n\g<0>\n```", obj.docstring.value)

    def on_attribute_instance(self, *, attr: griffe.Attribute, **kwargs: Any) -> None:
        """Called for each attribute that griffe finds; the name and the keywords are griffe's."""
        method = mirrored(str(attr.value))
        if attr.docstring is None and (words := method or comment(attr)):
            attr.docstring = griffe.Docstring(words, parent=attr)
        if method or ("class-attribute" not in attr.labels and attr.parent and attr.parent.is_class):
            attr.value = None  # how it is made is nobody's business but the class's


def mirrored(value: str) -> str | None:
    """What an asynchronous method does: the synchronous one of the same name, awaited."""
    found = _MIRRORED.match(value)
    if found is None:
        return None
    way, owner, name = found.groups()
    return f"[`{owner}.{name}`][tamis_producer.{owner}.{name}], {_CALLED[way]}."


def comment(attr: griffe.Attribute) -> str | None:
    """The comment at the end of a field's lines, as a sentence; None where there is none, or only a linter's."""
    lines = "".join(
        attr.lines_collection[attr.filepath][line - 1] + "\n" for line in range(attr.lineno, attr.endlineno + 1)
    )
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(lines.strip()).readline))
    except (tokenize.TokenError, IndentationError):
        return None
    said = [token.string.lstrip("# ") for token in tokens if token.type == tokenize.COMMENT]
    said = [words for words in said if not words.startswith(("noqa", "type:", "pragma"))]
    return said[-1][:1].upper() + said[-1][1:] + "." if said else None
