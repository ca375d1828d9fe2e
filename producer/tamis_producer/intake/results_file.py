"""Results as a file: CSV for people and spreadsheets, JSONL with everything."""

import csv
import io
import json
import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import TextIO

from tamis_schemas import InputError, ItemResult

from .formula_guard import guarded

COLUMNS = (
    "index",
    "item_id",
    "status",
    "value",
    "confidence",
    "reasoning",
    "deciding_criteria",
    "exclusion_reason",
    "uncertain_reason",  # why the software made it uncertain, where the model had decided
    "flagged",  # true: the model quotes what the record does not say
    "quotes",  # the quotes that flag it: I1 altered: "men" for "women"; E1 not found: "in rats"
    "cut",  # fields too long to be sent whole: abstract 40,000 of 120,000 characters; empty: all was sent
    "evaluations",  # of an extraction from chunks: what the metrics say, context_relevance 0.67; ...
    "error_kind",
    "error",
    "model",
    "prompt_tokens",
    "completion_tokens",
    "cost",  # dollars, failed calls included; empty: no price is known
    "final_value",  # what counts: what a human decided, else the value
    "overridden",  # true: a human's decision stands that is not the software's
    "reviewer",  # who decided; empty: no human
    "note",  # why
    "title",
)


def write_csv(results: Iterable[ItemResult], stream: TextIO) -> int:
    """One row per item under `COLUMNS`; how many. Several deciding criteria are separated by ` | `."""
    rows = 0
    for rows, line in enumerate(csv_lines(results)):  # noqa: B007 - the last number is the answer
        stream.write(line)
    return rows


def csv_lines(results: Iterable[ItemResult]) -> Iterator[str]:
    """The names of the columns, then each row, as soon as its result is there."""
    one = io.StringIO()
    writer = csv.writer(one)  # lines end as RFC 4180 has them; then a bare carriage return in a cell is quoted too
    writer.writerow(COLUMNS)
    yield one.getvalue()
    for result in results:
        one.seek(0)
        one.truncate()
        writer.writerow([guarded(cell) if isinstance(cell, str) else cell for cell in _cells(result)])
        yield one.getvalue()


def write_jsonl(results: Iterable[ItemResult], stream: TextIO) -> int:
    """One JSON object per item, the item itself included; how many."""
    rows = 0
    for rows, result in enumerate(results, 1):  # noqa: B007 - the last number is the answer
        stream.write(result.model_dump_json() + "\n")
    return rows


@contextmanager
def replacing(path: Path | str) -> Iterator[TextIO]:
    """A stream whose text becomes the file at `path` when all of it is written; until then nothing changes there.

    Raises `InputError`: the file cannot be written.
    """
    path = Path(path)
    try:
        handle, draft = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", path=path) from error
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as stream:
            yield stream
        umask = os.umask(0)
        os.umask(umask)
        Path(draft).chmod(0o666 & ~umask)
        Path(draft).replace(path)
    finally:
        Path(draft).unlink(missing_ok=True)


def _cells(row: ItemResult) -> list[object]:
    result, provenance = row.result, row.provenance
    criteria = " | ".join(row.decision.criteria) if row.decision else ""
    return [
        row.index,
        row.item_id,
        row.status,
        _cell(row.value),
        "" if result is None or result.error is not None else result.confidence,
        "" if result is None else result.reasoning or "",
        criteria,
        row.exclusion_reason or "",
        (row.decision and row.decision.uncertain_reason) or "",
        "true" if row.decision is not None and row.decision.flagged else "",
        "" if row.decision is None else row.decision.quote_words or "",
        row.cut_words or "",
        row.evaluation_words or "",
        row.error_kind.value if row.error_kind else "",
        "" if result is None else result.error or "",
        "" if provenance is None else provenance.model or "",
        "" if provenance is None else provenance.usage.prompt_tokens,
        "" if provenance is None else provenance.usage.completion_tokens,
        "" if row.cost is None else _plain(row.cost),
        _cell(row.final_value),
        "true" if row.overridden else "",
        "" if row.override is None else row.override.reviewer,
        "" if row.override is None else row.override.note or "",
        row.item.get("title") or "",
    ]


def _plain(amount: Decimal) -> str:
    """Without an exponent and without zeros that say nothing, as a spreadsheet reads a number."""
    text = f"{amount:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _cell(value: object) -> object:
    """Return the value as a cell: nothing for None, true and false in small letters, fields as JSON."""
    if isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else value
