"""`tamis criteria`: writes a template for a file of criteria, or checks such a file."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from tamis_producer.results.results_file import replacing
from tamis_review import InitialFilter
from tamis_review.plans.criteria_file import TEMPLATE, read_criteria
from tamis_review.plans.criteria_lint import doubts
from tamis_schemas import Inclusion, InputError
from tamis_schemas.values.printable import STANDARD_OUTPUT

from ..dry_run.prompt_beginning import beginning_of_all
from .app import app, out
from .tables import counted

criteria_app = app.group("criteria", "Write a template for criteria, or check a file of criteria.")


@criteria_app.command(examples=("tamis criteria init", "tamis criteria init - > mine.yaml"))
def init(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="The file to write; - writes to standard output.")
    ] = Path("criteria.yaml"),
) -> None:
    """Write a commented template for a review's criteria. An existing file is not changed."""
    if file.exists():
        raise InputError("the file already exists, and was not changed", path=file)
    with replacing(file) as stream:
        stream.write(TEMPLATE)
    if file != STANDARD_OUTPUT:
        out.say(f"{escape(str(file))} is written. Edit it, then run: tamis criteria check {escape(str(file))}")


@criteria_app.command(examples=("tamis criteria check criteria.yaml",))
def check(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The review's criteria, YAML or JSON.")],
) -> Iterator[object]:
    """Check a review's criteria: show each with its label, and list probable mistakes."""
    criteria = read_criteria(file)
    switched_off = InitialFilter(criteria).switched_off  # raises for a keyword that cannot be searched
    doubtful = doubts(criteria)
    beginning = beginning_of_all(Inclusion(criteria=criteria))
    listed = [criterion.model_dump() | {"reason": criterion.reason} for criterion in criteria.labelled()]
    facts = {"criteria": criteria, "labelled": listed, "switched_off": dict(switched_off), "doubts": doubtful}
    yield facts | {"beginning": beginning}
    out.say(f"[bold]{escape(criteria.research_question)}[/]")
    years = "" if criteria.date_range is None else " to ".join(map(str, criteria.date_range))
    keywords = ", ".join(criteria.custom_keywords)
    for name, value in (("purpose", criteria.purpose), ("years", years), ("keywords that exclude", keywords)):
        if value:
            out.say(f"[dim]{name}[/]  {escape(value)}")
    for title, excludes in (("included if all are met", False), ("excluded if one is met", True)):
        labelled = [criterion for criterion in criteria.labelled() if criterion.excludes is excludes]
        if labelled:
            out.say(f"[dim]{title}[/]")
        for criterion in labelled:
            worded = f" [dim](exclusion reason: {escape(criterion.exclude_as)})[/]" if criterion.exclude_as else ""
            out.say(f"  [bold]{criterion.label}[/]  {escape(criterion.text)}{worded}")
    if criteria.examples:
        out.say("[dim]examples[/]")
    for example in criteria.examples:
        reason = f" [dim]({escape(example.reason)})[/]" if example.reason else ""
        out.say(f"  [bold]{example.decision}[/]  {escape(example.title)}{reason}")
    for rule, why in switched_off.items():
        out.say(f"[dim]initial filter, without the rule {escape(rule)}:[/] {escape(why)}")
    out.say(f"[dim]shared[/]  {beginning.words}")
    for doubt in doubtful:
        out.say(f"[yellow]doubtful:[/] {escape(doubt)}")
    more = f", {counted(len(doubtful), 'doubt')}" if doubtful else ""
    out.say(f"{escape(str(file))} is valid: {counted(len(criteria.labelled()), 'criterion', 'criteria')}{more}.")
