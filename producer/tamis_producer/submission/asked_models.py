"""The models of a batch: one model, or the models of its operation's panel."""

from tamis_schemas import Filter, Inclusion, InvalidParameters, Operation
from tamis_schemas.operations import Panel, panel_of


def with_panel(operation: Operation, panel: Panel | None) -> Operation:
    """Return the operation with this panel, or unchanged if `panel` is None.

    Raises `InvalidParameters` if the operation makes no decisions for a panel to vote on, or has another panel already.
    """
    if panel is None:
        return operation
    if not isinstance(operation, Inclusion | Filter):
        raise InvalidParameters(
            f"panel: {type(operation).__name__} cannot have one: a panel votes on decisions, which only "
            "Inclusion and Filter make"
        )
    if panel_of(operation) not in (None, panel):
        raise InvalidParameters("panel: the operation has a panel already; a batch has only one")
    return operation.model_copy(update={"panel": panel})


def batch_model(operation: Operation, model: str | None, usual: str | None) -> str | None:
    """Return the model that a batch asks, or the names of its panel's models on one line.

    A result of None means the workers' model. `usual`: the model of a batch that names neither a model nor a panel.
    Raises `InvalidParameters` if a batch names both a model and a panel.
    """
    panel = panel_of(operation)
    if panel is None:
        return model or usual
    if model is not None:
        raise InvalidParameters(f"model: {model!r} cannot be combined with a panel; add it to the panel's models")
    return panel.words
