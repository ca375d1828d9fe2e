"""What is said of a file before its records are submitted."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from shlex import quote

from rich.markup import escape

from tamis_producer.intake.notes import Note, NoteKind
from tamis_producer.screening.identification import Identified
from tamis_schemas.answers.exclusion import DUPLICATE

from .app import err

LINES_NAMED = 8


@dataclass(frozen=True)
class Remedy:
    """The options by which the records that are kept out are asked about after all."""

    duplicates: str
    rejected: str


BY_OPTION = Remedy("--keep-duplicates", "--no-initial-filter")
BY_PLAN = Remedy("`keep_duplicates: true` in the plan", "a plan without initial_filter")


def say_what_was_read(identified: Identified, path: Path, remedy: Remedy = BY_OPTION) -> None:
    """Say on standard error what was skipped, lost and replaced, and which records no model is asked about.

    Pairs that may be copies are counted, with the command that shows them; `path` is the file.
    """
    intake, source = identified.intake, identified.source
    say_notes(intake.notes, path)
    if intake.replaced:
        lines = sorted({replaced.line for replaced in intake.replaced})
        named = ", ".join(map(str, lines[:LINES_NAMED])) + (", ..." if len(lines) > LINES_NAMED else "")
        err.print(
            f"[yellow]{len(intake.replaced)} bytes are not {escape(source.encoding)}[/] and were read as cp1252: "
            f"line{'s' if len(lines) > 1 else ''} {named}"
        )
    total = len(identified.records)
    if identified.duplicates:
        _say(f"{identified.duplicates:,} of {total:,} records kept out as copies of another one", remedy.duplicates)
    if pairs := len(identified.doubts):
        err.say(
            f"[yellow]{pairs:,} pair{'s' if pairs > 1 else ''} of records may be copies[/] and stay: "
            f"`tamis duplicates {escape(quote(str(path)))}` shows them"
        )
    if identified.rejected:
        counted = Counter(exclusion.rule for exclusion in identified.exclusions.values() if exclusion.rule != DUPLICATE)
        rules = ", ".join(f"{rule} {count:,}" for rule, count in counted.most_common())
        _say(f"{identified.rejected:,} of {total:,} rejected by the initial filter: {rules}", remedy.rejected)
    for rule, reason in source.switched_off.items():
        err.print(f"[dim]rule {escape(rule)} is off: {escape(reason)}[/]")


def say_notes(notes: Sequence[Note], path: Path) -> None:
    """Say on standard error what of a file became no record: what was skipped by its kind, lost records by name."""
    skipped = [note for note in notes if note.kind is NoteKind.SKIPPED]
    if skipped:
        kinds = ", ".join(f"{note.n:,} × {note.text}" for note in sorted(skipped, key=lambda note: -note.n))
        err.say(f"[dim]{escape(path.name)}: skipped between records: {escape(kinds)}[/]")
    lost = [note for note in notes if note.kind is NoteKind.LOST]
    if not lost:
        return
    err.say(
        f"[yellow]{escape(path.name)}: {len(lost):,} record{'s' if len(lost) > 1 else ''} could not be read[/] and "
        f"{'are' if len(lost) > 1 else 'is'} left out [dim](--strict makes this an error)[/]"
    )
    for note in lost[:LINES_NAMED]:
        err.say(f"  line {note.line}: {escape(note.text)}")
    if len(lost) > LINES_NAMED:
        err.say(f"  and {len(lost) - LINES_NAMED:,} more")


def _say(what: str, remedy: str) -> None:
    err.print(f"{escape(what)} [dim]({escape(remedy)} asks about them too)[/]")
