"""Summaries, as they were written when a round ended."""

from uuid import UUID

from tamis_schemas import Summary

from .statements import RunsStatements


def read_summary(connection: RunsStatements, batch_id: UUID, round_: int | None = None) -> Summary | None:
    """The summary of a batch's round, or of its latest finished one; None where there is none."""
    summaries = read_summaries(connection, batch_id)
    wanted = [summary for summary in summaries if round_ is None or summary.round == round_]
    return wanted[-1] if wanted else None


def read_summaries(connection: RunsStatements, batch_id: UUID) -> list[Summary]:
    """The summaries of a batch's finished rounds, the first one first."""
    statement = "SELECT summary FROM summaries WHERE batch_id = %(batch_id)s ORDER BY round"
    return [
        Summary.model_validate(row.summary) for row in connection.exec_driver_sql(statement, {"batch_id": batch_id})
    ]
