"""Which model the workers will ask, as far as this process can know: it may be set in another terminal, or machine."""

from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy import Connection, select

from tamis_schemas.ledger import batches, results
from tamis_worker.config.settings import WorkerSettings

LATEST_BATCHES = 5  # in which an answer is looked for


@dataclass(frozen=True)
class WorkersModel:
    """The model that a batch will be asked of, and what people should know of how that is known."""

    name: str | None  # None: nobody here can know
    note: str | None = None


def workers_model(named: str | None, settings: WorkerSettings, latest: Callable[[], str | None]) -> WorkersModel:
    """The model of a batch for which `named` was given on the command line, or nothing.

    `latest` looks into the ledger for the model of the latest answers; it is called only where nothing else says so.
    """
    own = None if settings.stack is None else settings.stack.model
    if named is not None:
        return WorkersModel(named)
    if (here := settings.batch_model) is not None:
        differs = own is not None and own != here
        note = f"TAMIS_MODEL of this terminal goes with the batch; the workers' own model is {own}"
        return WorkersModel(here, note if differs else None)
    if own is not None:
        ignored = settings.model is not None and settings.model != own
        note = f"the model that `tamis up` serves counts, not TAMIS_MODEL of this terminal: {settings.model}"
        return WorkersModel(own, note if ignored else None)
    if (seen := latest()) is not None:
        return WorkersModel(seen, "as the workers' latest answers name it: TAMIS_MODEL is not set here")
    return WorkersModel(None, "only the workers know it: say --model, or set TAMIS_MODEL here as it is set there")


def latest_model(connection: Connection) -> str | None:
    """The model that answered last in batches that left it to the workers; None where there is no such answer."""
    like = select(batches.c.id).where(batches.c.model.is_(None)).order_by(batches.c.created_at.desc())
    latest_answer = (
        select(results.c.model)
        .where(results.c.batch_id.in_(like.limit(LATEST_BATCHES)), results.c.model.is_not(None))
        .order_by(results.c.created_at.desc())
        .limit(1)
    )
    return connection.execute(latest_answer).scalar_one_or_none()
