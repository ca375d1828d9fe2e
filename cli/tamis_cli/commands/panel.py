"""The options of a panel, for the commands whose records several models can decide about."""

from typing import Annotated

import typer

from tamis_schemas import InvalidParameters, Panel, PanelPolicy

from .submission import validated

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


def panel_of_options(models: str | None, policy: PanelPolicy | None) -> Panel | None:
    """Return the panel of a command line, or None where it names none.

    Raises `InvalidParameters` for models that make no panel, and for a policy without models.
    """
    if models is None:
        if policy is not None:
            raise InvalidParameters("--policy: it says how a panel decides; name its models with --panel")
        return None
    named = [model.strip() for model in models.split(",")]
    return validated(Panel, models=named) if policy is None else validated(Panel, models=named, policy=policy)
