"""`tamis duplicates`: certain and possible copies among the records of files, without a server."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Annotated

from rich.markup import escape

from tamis_review.filter.duplicate_pairs import DuplicatePairs, PairKind, PlacedRecord, find_pairs, write_pairs

from .app import app, out
from .arguments import Encoding, Files, Strict, to_file, write_rows
from .intake import reading_of, say_notes
from .tables import counted


@app.command(
    examples=(
        "tamis duplicates citations.ris",
        "tamis duplicates pubmed.nbib embase.ris scopus.csv -o pairs.csv",
    ),
)
def duplicates(
    files: Files,
    output: Annotated[Path | None, to_file("A CSV file with every pair.")] = None,
    strict: Strict = False,
    encoding: Encoding = None,
) -> Iterator[object]:
    """List certain and possible copies among the records, each pair with its reason."""
    result = find_pairs(files, **reading_of(strict=strict, encoding=encoding))
    for path, notes in result.notes.items():
        say_notes(notes, path)
    write_rows(output, "pair", partial(write_pairs, result.pairs))
    yield {
        "records": result.records,
        "copies": len(result.of(PairKind.COPY)),
        "doubts": len(result.of(PairKind.DOUBT)),
        "pairs": [
            {"kind": pair.kind, "reason": pair.reason, "record": pair.one.facts, "stays": pair.stays.facts}
            for pair in result.pairs
        ],
    }
    _print(result)


def _print(result: DuplicatePairs) -> None:
    """Print the pairs, and then the counts. Doubtful pairs come last, close to the terminal's prompt."""
    for pair in result.pairs:
        doubtful = pair.kind is PairKind.DOUBT
        out.say(f"[{'yellow' if doubtful else 'bold'}]{pair.kind}[/] {escape(pair.reason)}")
        roles = ("", "") if doubtful else ("removed", "kept")
        for role, placed in zip(roles, (pair.one, pair.stays), strict=True):
            out.say(f"  [dim]{role:<8}[/] {_described(placed)}")
    copies, doubts = len(result.of(PairKind.COPY)), len(result.of(PairKind.DOUBT))
    if not result.pairs:
        out.print(f"[green]no duplicates[/] among {counted(result.records, 'record')}")
        return
    out.say(
        f"{counted(result.records, 'record')}: {counted(copies, 'is a copy', 'are copies')} of another record, "
        f"{result.records - copies:,} are kept; {counted(doubts, 'pair')} for a person to decide"
    )


def _described(placed: PlacedRecord) -> str:
    facts = placed.facts
    named = ", ".join(str(facts[name]) for name in ("journal", "year") if facts[name])
    place = f"{facts['file']} line {facts['line']}" if facts["line"] is not None else str(facts["file"])
    behind = "; ".join(filter(None, [named, place]))
    return f"{escape(str(facts['id']))}: {escape(str(facts['title'] or ''))} [dim]({escape(behind)})[/]"
