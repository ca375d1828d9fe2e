"""The figures of a batch's panel, beside what people decided about its records."""

from collections.abc import Mapping
from uuid import UUID

from sqlalchemy import Connection, select

from tamis_producer.ledger import read_operation
from tamis_producer.ledger.overrides import standing
from tamis_schemas.operations import panel_of, verdict

from ..quality.panel_figures import PanelFigures, panel_figures
from ..quality.panel_record import read_panel_records


def read_panel(connection: Connection, batch_id: UUID, human: Mapping[int, bool] | None = None) -> PanelFigures | None:
    """The figures of a batch's panel; None: it asks one model.

    `human` says by place which records people include; None: by their decisions about this batch that stand.
    """
    panel = panel_of(read_operation(connection, batch_id))
    if panel is None:
        return None
    records = list(read_panel_records(connection, batch_id))
    return panel_figures(panel, records, _decided(connection, batch_id) if human is None else human)


def _decided(connection: Connection, batch_id: UUID) -> dict[int, bool]:
    decisions = standing(batch_id)
    said = {row.idx: verdict(row.value) for row in connection.execute(select(decisions.c.idx, decisions.c.value))}
    return {index: includes for index, includes in said.items() if includes is not None}
