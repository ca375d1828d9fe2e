"""What is said of a file before its records are submitted."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from shlex import quote

from rich.markup import escape

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
    """Say on standard error what was replaced, and which copies and rejected records no model is asked about.

    Pairs that may be copies are counted, with the command that shows them; `path` is the file.
    """
    intake, source = identified.intake, identified.source
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


def _say(what: str, remedy: str) -> None:
    err.print(f"{escape(what)} [dim]({escape(remedy)} asks about them too)[/]")
