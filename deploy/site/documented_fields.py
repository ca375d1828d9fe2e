"""An extension of griffe that makes docstrings for the site's API reference (`mkdocs.yml`). It is not installed.

A field gets the comment on its line. An asynchronous method gets a link to the method that it mirrors. A Python session
in a docstring is shown as code.
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
    """Gives each attribute without a docstring the comment on its line."""

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        """Show Python sessions as code. Griffe calls this for each complete object."""
        if obj.docstring is not None:
            obj.docstring.value = _SESSION.sub(r"```pycon\n\g<0>\n```", obj.docstring.value)

    def on_attribute_instance(self, *, attr: griffe.Attribute, **kwargs: Any) -> None:
        """Set the docstring of an attribute. Griffe calls this for each attribute."""
        method = mirrored(str(attr.value))
        if attr.docstring is None and (words := method or comment(attr)):
            attr.docstring = griffe.Docstring(words, parent=attr)
        if method or ("class-attribute" not in attr.labels and attr.parent and attr.parent.is_class):
            attr.value = None  # how it is made is nobody's business but the class's


def mirrored(value: str) -> str | None:
    """Return the docstring of an asynchronous method: a link to its synchronous method. None for other values."""
    found = _MIRRORED.match(value)
    if found is None:
        return None
    way, owner, name = found.groups()
    return f"[`{owner}.{name}`][tamis_producer.{owner}.{name}], {_CALLED[way]}."


def comment(attr: griffe.Attribute) -> str | None:
    """Return the comment at the end of a field's lines, as a sentence; None if there is none, or only a linter's."""
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
