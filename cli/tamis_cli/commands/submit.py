"""The commands that submit the records of files as a batch, and watch the batch."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from tamis_producer import Batch
from tamis_review.filter.identification import identify, label_of
from tamis_review.intake.stated_source import StatedSource
from tamis_review.plans.criteria_file import read_criteria
from tamis_review.plans.plan_file import read_schema
from tamis_schemas import (
    Answer,
    EvaluationResult,
    Extract,
    ExtractFields,
    Filter,
    Inclusion,
    InvalidParameters,
    Operation,
    Panel,
    PanelPolicy,
    Score,
    SearchCriteria,
    UnclearPolicy,
    UnverifiedPolicy,
)
from tamis_schemas.values.printable import printable

from .app import app
from .arguments import Files, validated
from .connected import connected
from .dry_run import dry_run
from .intake import reading_of, say_what_was_read, sources_of
from .progress import attend
from .submission import SubmissionOptions, submitting, with_examples
from .tables import counted

ONE_ANSWER = ({"id": "answer"},)  # for a batch without records

Sources = Annotated[
    list[str] | None,
    typer.Option(
        "--source",
        metavar="NAME=FILE",
        help="The database or register of a file, if the file does not name it. Repeatable.",
    ),
]
Graded = Annotated[bool, typer.Option("--graded", help="Also grade the relevance of each record, from 0 to 100.")]
PanelModels = Annotated[
    str | None,
    typer.Option(
        "--panel",
        metavar="MODEL,MODEL,...",
        help="Ask several models about each record and decide by --policy.",
    ),
]
Policy = Annotated[
    PanelPolicy | None,
    typer.Option(help="How a panel decides.  [default: unanimous-exclude]"),
]
Reasoning = Annotated[bool, typer.Option(help="Ask for an explanation with every answer.")]


@app.command(
    examples=(
        "tamis screen citations.ris --criteria criteria.yaml --dry-run",
        "tamis screen citations.ris --criteria criteria.yaml --max-cost 5",
        "tamis screen citations.ris --criteria criteria.yaml --panel gpt-5-mini,deepseek-flash --policy any",
        "tamis screen citations.ris --criteria criteria.yaml --detach --json",
    ),
)
@submitting()
def screen(
    submission: SubmissionOptions,
    files: Files,
    criteria: Annotated[Path, typer.Option(help="The review's criteria, YAML or JSON.")],
    initial_filter: Annotated[
        bool, typer.Option(help="First reject records by the rules of the initial filter (tier 1).")
    ] = True,
    unclear: Annotated[UnclearPolicy, typer.Option(help="How an unclear criterion counts.")] = UnclearPolicy.INCLUDE,
    unverified: Annotated[
        UnverifiedPolicy, typer.Option(help="The treatment of an exclusion without a verified quote.")
    ] = UnverifiedPolicy.REFER,
    examples_from: Annotated[
        str | None,
        typer.Option(
            "--examples-from",
            metavar="ID",
            help="Show the model examples: records that people decided in this earlier batch of the review.",
        ),
    ] = None,
    panel: PanelModels = None,
    policy: Policy = None,
    graded: Graded = False,
    source: Sources = None,
) -> None:
    """Screen records against a review's criteria: include, exclude or uncertain, with reasons."""
    read = read_criteria(criteria)
    operation = validated(
        Inclusion,
        criteria=read,
        unclear=unclear,
        unverified=unverified,
        examples_from=examples_from,
        graded=graded,
        panel=panel_of_options(panel, policy),
    )
    submit(operation, sources_of(files, source or ()), submission, initial_filter=read if initial_filter else None)


@app.command("filter", examples=("tamis filter citations.ris --criteria 'Is this about oncology?'",))
@submitting()
def filter_(
    submission: SubmissionOptions,
    files: Files,
    criteria: Annotated[str, typer.Option(help="The question, for example 'Is this about oncology?'")],
    reasoning: Reasoning = True,
    graded: Graded = False,
    panel: PanelModels = None,
    policy: Policy = None,
    source: Sources = None,
) -> None:
    """Ask one yes/no question about every record."""
    operation = validated(
        Filter, criteria=criteria, include_reasoning=reasoning, graded=graded, panel=panel_of_options(panel, policy)
    )
    submit(operation, sources_of(files, source or ()), submission)


@app.command(examples=("tamis score citations.ris --criteria 'Rate the methodological quality' --min 1 --max 10",))
@submitting()
def score(
    submission: SubmissionOptions,
    files: Files,
    criteria: Annotated[str, typer.Option(help="What to rate, for example 'Rate the methodological quality'")],
    min_value: Annotated[float, typer.Option("--min", help="The lowest score.")] = 0,
    max_value: Annotated[float, typer.Option("--max", help="The highest score.")] = 1,
    interval: Annotated[float | None, typer.Option(help="The step between scores.  [default: any]")] = None,
    reasoning: Reasoning = True,
    source: Sources = None,
) -> None:
    """Rate every record on a scale."""
    operation = validated(
        Score,
        criteria=criteria,
        min_value=min_value,
        max_value=max_value,
        interval=interval,
        include_reasoning=reasoning,
    )
    submit(operation, sources_of(files, source or ()), submission)


@app.command(
    examples=(
        "tamis extract citations.ris --instruction 'How many people took part?' --type number",
        "tamis extract citations.ris --instruction 'Which design?' --type enum --value RCT --value cohort",
    ),
)
@submitting()
def extract(
    submission: SubmissionOptions,
    files: Files,
    instruction: Annotated[str, typer.Option(help="What to extract, for example 'What is the study design?'")],
    output_type: Annotated[str, typer.Option("--type", help="text, number, boolean or enum.")] = "text",
    value: Annotated[list[str] | None, typer.Option(help="A value of an enum. Repeatable.")] = None,
    reasoning: Reasoning = True,
    source: Sources = None,
) -> None:
    """Extract one value from every record, or nothing if the record does not contain it."""
    operation = validated(
        Extract,
        instruction=instruction,
        output_type=output_type,
        enum_values=value or None,
        include_reasoning=reasoning,
    )
    submit(operation, sources_of(files, source or ()), submission)


@app.command(
    examples=(
        "tamis fields citations.ris --schema fields.yaml --instructions 'Extract what the record says of the trial.'",
    ),
)
@submitting()
def fields(
    submission: SubmissionOptions,
    files: Files,
    schema: Annotated[Path, typer.Option(help="A JSON Schema of an object, JSON or YAML.")],
    instructions: Annotated[str, typer.Option(help="General instructions for the extraction.")],
    field: Annotated[list[str] | None, typer.Option(help="NAME=INSTRUCTION for one field. Repeatable.")] = None,
    reasoning: Reasoning = True,
    source: Sources = None,
) -> None:
    """Extract several fields from every record, as described by a JSON Schema."""
    operation = validated(
        ExtractFields,
        schema=read_schema(schema),
        instructions=instructions,
        field_instructions=dict(_named(text) for text in field) if field else None,
        include_reasoning=reasoning,
    )
    submit(operation, sources_of(files, source or ()), submission)


@app.command(
    examples=(
        "tamis answer --instruct 'What is a sieve?' --format 'One sentence' --criteria 'Correct, and clear at once'",
    ),
)
@submitting()
def answer(
    submission: SubmissionOptions,
    instruct: Annotated[str, typer.Option(help="The question or the task.")],
    resp_format: Annotated[str, typer.Option("--format", help="The form of the answer.")],
    eval_crit: Annotated[str, typer.Option("--criteria", help="The criteria of a good answer.")],
    file: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="Records, one answer for each.  [default: one answer]")
    ] = None,
    iter_max: Annotated[int, typer.Option(help="The most tries, 1 to 10.")] = 3,
    score_threshold: Annotated[
        float, typer.Option("--threshold", help="The score of a good enough answer, 0 to 1.")
    ] = 0.8,
    parallel_attempts: Annotated[int, typer.Option("--attempts", help="Parallel answers, 1 to 10.")] = 1,
) -> None:
    """Generate an answer, evaluate it, and refine it until it is good enough."""
    operation = validated(
        Answer,
        instruct=instruct,
        resp_format=resp_format,
        eval_crit=eval_crit,
        iter_max=iter_max,
        score_threshold=score_threshold,
        parallel_attempts=parallel_attempts,
    )
    if file is None:
        _submit_alone(operation, submission)
    else:
        submit(operation, sources_of([file], ()), submission)


def submit(
    operation: Operation,
    files: Sequence[StatedSource],
    submission: SubmissionOptions,
    *,
    initial_filter: SearchCriteria | None = None,
) -> None:
    """Submit the records of `files` as a batch, and follow the batch. With `--dry-run`, only estimate the batch."""
    identified = identify(
        files,
        keep_duplicates=submission.keep_duplicates,
        initial_filter=initial_filter,
        known=submission.known(),
        **reading_of(strict=submission.strict, encoding=submission.encoding),
    )
    say_what_was_read(identified)
    if submission.dry_run:
        planned = submission.planned(with_examples(operation), identified.asked)
        dry_run(planned, max_cost=submission.max_cost, as_json=submission.as_json)
        return
    label = label_of([file.name for file in identified.files])
    with connected() as client:
        batch = client.submit(
            operation,
            identified.records,
            label=label,
            exclusions=identified.exclusions,
            source=identified.sources,
            **submission.options,
        )
        origin = f"{counted(len(identified.asked), 'record')} of {len(identified.records):,} from {escape(label)}"
        attend(batch, submission, f"batch [bold]{batch.id}[/]: {origin}")


def _submit_alone(operation: Answer, submission: SubmissionOptions) -> None:
    """Submit a batch for a single answer without a record, follow the batch, and print the answer.

    With `--dry-run`, only estimate the batch.
    """
    if submission.dry_run:
        dry_run(submission.planned(operation, ONE_ANSWER), max_cost=submission.max_cost, as_json=submission.as_json)
        return
    with connected() as client:
        batch = client.submit(operation, ONE_ANSWER, **submission.options)
        headline = f"batch [bold]{batch.id}[/]: 1 records"
        attend(batch, submission, headline, more=lambda: {"answer": _answer(batch)}, tell=partial(_say_answer, batch))


def _answer(batch: Batch) -> str | None:
    """Return the answer of a batch with a single item; None if the item failed."""
    result = next(batch.results()).result
    return str(result.value) if isinstance(result, EvaluationResult) and result.error is None else None


def _say_answer(batch: Batch) -> None:
    if (text := _answer(batch)) is not None:
        typer.echo(f"\n{printable(text)}")


def panel_of_options(models: str | None, policy: PanelPolicy | None) -> Panel | None:
    """Return the panel of the options `--panel` (models) and `--policy`; None if no models are named.

    Raises `InvalidParameters` if these models cannot form a panel, or if there is a policy without models.
    """
    if models is None:
        if policy is not None:
            raise InvalidParameters("--policy needs a panel: name its models with --panel")
        return None
    policies = {} if policy is None else {"policy": policy}
    return validated(Panel, models=[model.strip() for model in models.split(",")], **policies)


def _named(text: str) -> tuple[str, str]:
    name, separator, instruction = text.partition("=")
    if not separator or not name.strip() or not instruction.strip():
        raise InvalidParameters(f"--field {text!r}: write NAME=INSTRUCTION")
    return name.strip(), instruction.strip()
