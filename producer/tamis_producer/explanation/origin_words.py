"""The origin of a record as people read it: its source, its copies, what was filled from them. Pure."""

from collections.abc import Iterator, Mapping
from typing import Any

from tamis_schemas import Source
from tamis_schemas.records.item import shown_text

from ..intake.filling import CONTRADICTED, FILLED
from ..intake.record import LINE
from .document import Explanation


def origin_lines(explanation: Explanation) -> Iterator[str]:
    """The lines; none where the ledger names neither a source nor a copy."""
    item = explanation.record.item
    if explanation.source is not None:
        line = "" if LINE not in item else f", line {item[LINE]}"
        yield f"{_of(explanation.source)}{line}"
        if explanation.source.query is not None:
            yield f"query: {explanation.source.query}"
    for copy in explanation.copies:
        source = "" if copy.source is None else f" of {copy.source}"
        yield f"its copy {copy.index}, id {copy.item_id}{source}, was kept out: {copy.reason}"
    for name, origin in _listed(item, FILLED):
        yield f"{name} was filled from {_place(origin)}"
    for name, others in _listed(item, CONTRADICTED):
        for other in others:
            yield f"{name} is contradicted: {shown_text(other.get('value'))} says {_place(other)}"


def _of(source: Source) -> str:
    files = ", ".join(file.file for file in source.files)
    named = files if source.name == files else f"{source.name} ({source.kind}), {files}"
    return named if source.searched is None else f"{named}, searched {source.searched}"


def _listed(item: Mapping[str, Any], name: str) -> Iterator[tuple[str, Any]]:
    """What a hidden field of this module's says of each field; a record may have brought something else under it."""
    value = item.get(name)
    yield from value.items() if isinstance(value, dict) else ()


def _place(origin: Mapping[str, Any]) -> str:
    if "file" in origin:
        return f"{origin['file']}, line {origin['line']}" if origin.get("line") else str(origin["file"])
    source = f" of {origin['source']}" if "source" in origin else ""
    return f"its copy {origin.get('from')}{source}"
