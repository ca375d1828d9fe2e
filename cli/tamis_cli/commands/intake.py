"""Messages about the records read from files, and the sources (such as databases) that the user names for files."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from shlex import quote

from rich.markup import escape

from tamis_producer import ProducerSettings
from tamis_review import Note, NoteKind
from tamis_review.filter.identification import Identified
from tamis_review.intake.reading import ReadingOptions
from tamis_review.intake.sourced_records import FileRead
from tamis_review.intake.stated_source import StatedSource
from tamis_schemas import InvalidParameters
from tamis_schemas.answers.exclusion import DUPLICATE

from .app import err

LINES_NAMED = 8


@dataclass(frozen=True)
class Remedy:
    """Words for messages: how to keep duplicates, and how to keep records that the initial filter rejects."""

    duplicates: str
    rejected: str


BY_OPTION = Remedy("--keep-duplicates", "--no-initial-filter")
BY_PLAN = Remedy("`keep_duplicates: true` in the plan", "a plan without initial_filter")


def reading_of(*, strict: bool, encoding: str | None) -> ReadingOptions:
    """Return the keyword arguments of `read_file`: a command's options, and the settings' limit for a file's size."""
    return {"max_bytes": ProducerSettings.load().max_file_bytes, "strict": strict, "encoding": encoding}


def sources_of(files: Sequence[Path], named: Sequence[str]) -> list[StatedSource]:
    """Return the sources (such as databases) of the files on a command line.

    `named`: the values NAME=FILE of the option `--source`. Files with the same NAME are one source. Each file without a
    NAME is a source of its own.

    Raises `InvalidParameters` if NAME=FILE is malformed, FILE is none of the files, or FILE has two names.
    """
    names: dict[Path, str] = {}
    for text in named:
        name, separator, file = (part.strip() for part in text.partition("="))
        if not (name and separator and file):
            raise InvalidParameters(f"--source {text!r}: write NAME=FILE, for example Embase=embase.ris")
        if Path(file) not in files:
            raise InvalidParameters(f"--source {text!r}: {file} is not among the files; add it as FILE")
        if names.setdefault(Path(file), name) != name:
            raise InvalidParameters(f"--source {text!r}: {file} already has the source {names[Path(file)]}")
    together: dict[str | int, list[Path]] = {}
    for place, path in enumerate(files):
        together.setdefault(names.get(path, place), []).append(path)
    return [StatedSource(files=tuple(paths), name=names.get(paths[0])) for paths in together.values()]


def say_what_was_read(identified: Identified, remedy: Remedy = BY_OPTION) -> None:
    """Print on standard error how many records were removed as copies, unreadable, or rejected by the initial filter.

    Also print the lines whose bytes were not in the file's encoding, the files whose records add to another file's
    records, and the number of records of each source. If records may be copies, print the command that lists them.
    `remedy`: how to keep removed records.
    """
    for file in identified.files:
        _say_of_file(file, alone=len(identified.files) == 1)
    total = len(identified.records)
    if len(identified.sources) > 1:
        listed = ", ".join(f"{source.name} {source.records:,}" for source in identified.sources)
        err.say(f"{total:,} records of {len(identified.sources)} sources: {escape(listed)}")
    if identified.known:
        err.say(f"{identified.known:,} of {total:,} records removed: the earlier search has them already")
    if copies := identified.duplicates - identified.known:
        _say(f"{copies:,} of {total:,} records removed as copies of another record", remedy.duplicates)
    if pairs := len(identified.doubts):
        err.say(
            f"[yellow]{pairs:,} pair{'s' if pairs > 1 else ''} of records may be copies[/] and are kept: "
            f"`tamis duplicates {escape(' '.join(quote(str(file.path)) for file in identified.files))}` lists them"
        )
    if identified.rejected:
        counted = Counter(exclusion.rule for exclusion in identified.exclusions.values() if exclusion.rule != DUPLICATE)
        rules = ", ".join(f"{rule} {count:,}" for rule, count in counted.most_common())
        _say(f"{identified.rejected:,} of {total:,} rejected by the initial filter: {rules}", remedy.rejected)
    for rule, reason in identified.sources[0].switched_off.items():  # equal for all sources
        err.print(f"[dim]rule {escape(rule)} is off: {escape(reason)}[/]")


def _say_of_file(file: FileRead, *, alone: bool) -> None:
    say_notes(file.intake.notes, file.path)
    of_file = "" if alone else f"{escape(file.name)}: "
    if replaced := file.intake.replaced:
        lines = sorted({note.line for note in replaced})
        named = ", ".join(map(str, lines[:LINES_NAMED])) + (", ..." if len(lines) > LINES_NAMED else "")
        err.print(
            f"{of_file}[yellow]{len(replaced)} bytes are not {escape(file.intake.encoding)}[/] and were read as "
            f"cp1252: line{'s' if len(lines) > 1 else ''} {named}"
        )
    if file.completes is not None:
        err.say(f"{escape(file.name)} completes {escape(file.completes)}: {file.joined:,} records")


def say_notes(notes: Sequence[Note], path: Path) -> None:
    """Print on standard error a file's doubtful texts, its skipped texts with their numbers, and unreadable records."""
    for note in notes:
        if note.kind is NoteKind.DOUBT:
            err.say(f"[yellow]{escape(path.name)}:[/] {escape(note.text)}")
    if skipped := [note for note in notes if note.kind is NoteKind.SKIPPED]:
        kinds = ", ".join(f"{note.n:,} × {note.text}" for note in sorted(skipped, key=lambda note: -note.n))
        err.say(f"[dim]{escape(path.name)}: skipped between records: {escape(kinds)}[/]")
    lost = [note for note in notes if note.kind is NoteKind.LOST]
    if not lost:
        return
    err.say(
        f"[yellow]{escape(path.name)}: {len(lost):,} record{'s' if len(lost) > 1 else ''} could not be read[/] and "
        f"{'are' if len(lost) > 1 else 'is'} skipped [dim](--strict makes this an error)[/]"
    )
    for note in lost[:LINES_NAMED]:
        err.say(f"  line {note.line}: {escape(note.text)}")
    if len(lost) > LINES_NAMED:
        err.say(f"  and {len(lost) - LINES_NAMED:,} more")


def _say(what: str, remedy: str) -> None:
    err.print(f"{escape(what)} [dim]({escape(remedy)} asks about them too)[/]")
