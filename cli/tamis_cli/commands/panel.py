"""The options of a panel, for the commands whose records several models can decide about."""

from dataclasses import replace
from typing import Annotated

import typer

from tamis_producer.config.settings import ProducerSettings
from tamis_schemas import InvalidParameters, Panel, PanelPolicy

from .submission import Submission, validated

PanelModels = Annotated[
    str | None,
    typer.Option(
        "--panel",
        metavar="MODEL,MODEL,...",
        help="Ask several models about each record and decide by --policy. Of a cascade the last is asked last.",
    ),
]
Policy = Annotated[
    PanelPolicy | None,
    typer.Option(help="How a panel decides.  [default: unanimous-exclude; with --repeat: majority]"),
]
Sure = Annotated[
    float | None,
    typer.Option(
        metavar="0..1", help="Of a cascade: a lower confidence sends a record on to the last model.  [default: 0.7]"
    ),
]
Repeat = Annotated[
    int | None,
    typer.Option(metavar="N", help="Ask one model N times, to measure how stable its decisions are."),
]


def panel_of_options(
    submission: Submission, models: str | None, policy: PanelPolicy | None, sure: float | None, repeat: int | None
) -> tuple[Panel | None, Submission]:
    """The panel of a command line, None where it names none; and the submission, without the model that is in it.

    Raises `InvalidParameters`: what makes no panel, or an option that belongs to one without it.
    """
    if models is None and repeat is None:
        given = {"--policy": policy, "--sure": sure}
        if stray := [name for name, value in given.items() if value is not None]:
            raise InvalidParameters(f"{stray[0]}: it says how a panel decides; name its models with --panel")
        return None, submission
    named = [] if models is None else [model.strip() for model in models.split(",")]
    if not named and (model := submission.model or ProducerSettings.load().batch_model) is not None:
        named, submission = [model], replace(submission, model=None)
    if not named:
        raise InvalidParameters("--repeat: say which model with --model")
    if policy is None and repeat is not None:
        policy = PanelPolicy.MAJORITY
    parameters = {"models": named, "policy": policy, "sure": sure, "repeat": repeat}
    panel = validated(Panel, **{name: value for name, value in parameters.items() if value is not None})
    return panel, submission
