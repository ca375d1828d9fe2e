"""The models that answered a batch, as the endpoint names them: their records, their dates, and whether they changed.

A change is a second name among the answers, or a name that no answer of the batch's pilot has. The pilot is the latest
earlier batch with the same operation, parameters and requested model.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from tamis_schemas.values.frozen import Frozen

from .statements import RunsStatements

# Only a panel's results have details that name models.
_SNAPSHOTS = """
SELECT panel_model, model, count(*) AS records, min(created_at) AS first_at, max(created_at) AS last_at
  FROM (SELECT v.value ->> 'model' AS panel_model, r.created_at,
               CASE WHEN v.value IS NULL THEN r.model ELSE v.value ->> 'answered_by' END AS model
          FROM batches b JOIN results r ON r.batch_id = b.id
          LEFT JOIN LATERAL json_array_elements(
              CASE WHEN json_typeof(b.params -> 'panel') = 'object' THEN r.detail -> 'panel' -> 'verdicts' END
          ) v ON true
         WHERE b.id = %(batch_id)s AND r.error_kind IS NULL) answers
 WHERE model IS NOT NULL
 GROUP BY panel_model, model
 ORDER BY panel_model, first_at, model
"""

# The batch and its pilot, with the names of models in their summaries. The pilot is among the 200 latest earlier
# batches, so that the cost does not grow with the ledger.
_PAIR = """
SELECT c.id, (SELECT s.summary -> 'models' FROM summaries s WHERE s.batch_id = c.id ORDER BY s.round DESC LIMIT 1)
             AS models
  FROM batches b
  CROSS JOIN LATERAL (
      SELECT b.id, b.created_at
      UNION ALL
      (SELECT e.id, e.created_at
         FROM (SELECT * FROM batches
                WHERE service IS NULL AND purging_at IS NULL AND created_at < b.created_at
                ORDER BY created_at DESC LIMIT 200) e
        WHERE e.operation = b.operation AND e.params::text = b.params::text AND e.model IS NOT DISTINCT FROM b.model
        ORDER BY e.created_at DESC LIMIT 1)
  ) c
 WHERE b.id = %(batch_id)s
 ORDER BY c.created_at DESC
"""


class ModelSnapshot(Frozen):
    """A model under the name that its answers contain, with the number of records that it decided in a batch."""

    panel_model: str | None  # model of a panel that was asked; None: the batch has no panel
    model: str
    records: int
    first_at: datetime  # first result
    last_at: datetime


class SnapshotChange(Frozen):
    """The models that answered a batch, if they changed in the batch or since its pilot.

    The pilot is the latest earlier batch with the same question.
    """

    snapshots: tuple[ModelSnapshot, ...]
    pilot_id: str | None = None  # None: the pilot's models did not change, or there is no pilot
    pilot: tuple[ModelSnapshot, ...] = ()

    @property
    def sentences(self) -> tuple[str, ...]:
        """The changes in words, one sentence for each change."""
        several = tuple(row for row in self.snapshots if len(_names(self.snapshots, row.panel_model)) > 1)
        within = (f"Answers came from several model snapshots: {_words(several)}.",) if several else ()
        if self.pilot_id is None:
            return within
        since = f"An earlier batch with the same question ({self.pilot_id}) was answered by {_words(self.pilot)}"
        return (*within, f"{since}; this batch was answered by {_words(self.snapshots)}.")


def read_snapshots(connection: RunsStatements, batch_id: UUID) -> tuple[ModelSnapshot, ...]:
    """Return the models that decided a batch's records, in the order of their first results."""
    rows = connection.exec_driver_sql(_SNAPSHOTS, {"batch_id": batch_id})
    return tuple(ModelSnapshot.model_validate(row._asdict()) for row in rows)


def read_snapshot_change(connection: RunsStatements, batch_id: UUID) -> SnapshotChange | None:
    """Return the models that answered a batch, if they changed in the batch or since its pilot; else None.

    The results are read only if the summaries of the two batches do not rule out a change.
    """
    batch, *pilots = connection.exec_driver_sql(_PAIR, {"batch_id": batch_id})
    before: Mapping[str, Any] = (pilots[0].models or {}) if pilots else {}
    if batch.models is not None and len(batch.models) < 2 and (not before or batch.models.keys() <= before.keys()):
        return None
    snapshots = read_snapshots(connection, batch_id)
    pilot = read_snapshots(connection, pilots[0].id) if before else ()
    missing = [row for row in snapshots if pilot and row.model not in _names(pilot, row.panel_model)]
    if missing:
        return SnapshotChange(snapshots=snapshots, pilot_id=str(pilots[0].id), pilot=pilot)
    changed = any(len(_names(snapshots, row.panel_model)) > 1 for row in snapshots)
    return SnapshotChange(snapshots=snapshots) if changed else None


def _names(snapshots: tuple[ModelSnapshot, ...], panel_model: str | None) -> set[str]:
    return {row.model for row in snapshots if row.panel_model == panel_model}


def _words(snapshots: tuple[ModelSnapshot, ...]) -> str:
    """Return models with their records, shares and dates: `“m-1” (60 records, 60.0%, 2026-03-01 to 2026-03-02)`."""
    words = []
    for row in snapshots:
        total = sum(other.records for other in snapshots if other.panel_model == row.panel_model)
        first, last = (f"{at.astimezone(UTC):%Y-%m-%d}" for at in (row.first_at, row.last_at))
        records = "1 record" if row.records == 1 else f"{row.records:,} records"
        dates = first if first == last else f"{first} to {last}"
        words.append(f"“{row.model}” ({records}, {row.records / total:.1%}, {dates})")
    return ", ".join(words)
