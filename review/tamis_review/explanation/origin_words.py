"""The origin of a record as people read it: its source, its copies, what was filled from them. Pure."""

from collections.abc import Iterator, Mapping
from typing import Any

from tamis_schemas import Source
from tamis_schemas.records.item import shown_text
from tamis_schemas.records.record_number import record_words

from ..intake.filling import CONTRADICTED, FILLED, said_of_fields
from ..intake.record import LINE
from ..intake.sourced_records import FILE
from .document import Explanation


def origin_lines(explanation: Explanation) -> Iterator[str]:
    """The lines; none where the ledger names neither a source nor a copy."""
    item = explanation.record.item
    if explanation.source is not None:
        file = f", {item[FILE]}" if FILE in item else ""
        line = f", line {item[LINE]}" if LINE in item else ""
        yield f"{_of(explanation.source)}{file}{line}"
        if explanation.source.query is not None:
            yield f"query: {explanation.source.query}"
    for copy in explanation.copies:
        source = "" if copy.source is None else f" of {copy.source}"
        yield f"its copy {record_words(copy.index)}, id {copy.item_id}{source}, was kept out: {copy.reason}"
    for name, origin in said_of_fields(item, FILLED).items():
        yield f"{name} was filled from {_place(origin)}"
    for name, others in said_of_fields(item, CONTRADICTED).items():
        for other in others:
            yield f"{name} is contradicted: {shown_text(other.get('value'))} says {_place(other)}"


def _of(source: Source) -> str:
    only = f", {source.file}" if len(source.files) == 1 and source.file != source.name else ""
    searched = "" if source.searched is None else f", searched {source.searched}"
    return f"{source.name} ({source.kind}){searched}{only}"


def _place(origin: Mapping[str, Any]) -> str:
    if "file" in origin:
        return f"{origin['file']}, line {origin['line']}" if origin.get("line") else str(origin["file"])
    source = f" of {origin['source']}" if "source" in origin else ""
    return f"its copy {_copy(origin.get('from'))}{source}"


def _copy(index: object) -> str:
    return record_words(index) if isinstance(index, int) else str(index)
