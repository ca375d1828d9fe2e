"""What `tamis doctor` prints."""

from collections.abc import Iterable

from rich.console import Console
from rich.markup import escape
from rich.padding import Padding

from .finding import Finding, Level

MARKS = {Level.OK: "[green]ok[/]     ", Level.WARNING: "[yellow]warning[/]", Level.FAILURE: "[red]failure[/]"}
SUBJECT_WIDTH = 12


def show(findings: Iterable[Finding], console: Console) -> bool:
    """Print the findings as they come; True where none is a failure."""
    counted = dict.fromkeys(Level, 0)
    last = None
    for finding in findings:
        counted[finding.level] += 1
        subject = "" if finding.subject == last else finding.subject
        last = finding.subject
        console.print(
            f"{MARKS[finding.level]}  [bold]{subject:<{SUBJECT_WIDTH}}[/]{escape(finding.what)}", soft_wrap=True
        )
        if finding.mend is not None:
            mend = Padding(f"-> {escape(finding.mend)}", (0, 0, 0, 9 + SUBJECT_WIDTH), expand=False)
            console.print(mend)
    failures, warnings = (
        f"{counted[level]} {name}{'' if counted[level] == 1 else 's'}"
        for level, name in ((Level.FAILURE, "failure"), (Level.WARNING, "warning"))
    )
    console.print(f"\n{failures}, {warnings}, {counted[Level.OK]} ok")
    return counted[Level.FAILURE] == 0
