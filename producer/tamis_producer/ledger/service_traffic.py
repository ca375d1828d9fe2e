"""Single calls of services, counted by service and hour: nobody wants to see a batch for each."""

from sqlalchemy import Connection, func, select, true

from tamis_schemas import ItemStatus
from tamis_schemas.ledger import batches, items, results
from tamis_schemas.ledger.costs import PAID, UNPRICED

from ..view import ServiceTraffic


def read_service_traffic(connection: Connection, *, hours: int = 24) -> list[ServiceTraffic]:
    """The calls of the last so many hours, this one among them; the latest hour first, services by their names."""
    hour = func.date_trunc("hour", batches.c.created_at).label("hour")
    begins = func.date_trunc("hour", func.now()) - func.make_interval(0, 0, 0, 0, hours - 1)
    counted = (
        select(
            func.count().filter(items.c.state == ItemStatus.FAILED).label("failed"),
            func.count().filter(items.c.state.in_((ItemStatus.PENDING, ItemStatus.RUNNING))).label("open"),
        )
        .where(items.c.batch_id == batches.c.id)
        .lateral("counted")
    )
    paid = select(PAID.label("cost"), UNPRICED.label("unpriced")).where(results.c.batch_id == batches.c.id)
    billed = paid.lateral("billed")
    statement = (
        select(
            batches.c.service,
            hour,
            func.sum(batches.c.n_items).label("calls"),
            func.sum(counted.c.failed).label("failed"),
            func.sum(counted.c.open).label("open"),
            func.sum(billed.c.cost).label("cost"),
            func.sum(billed.c.unpriced).label("unpriced"),
        )
        .select_from(batches)
        .join(counted, true())
        .join(billed, true())
        .where(batches.c.service.is_not(None), batches.c.created_at >= begins)
        .group_by(batches.c.service, hour)
        .order_by(hour.desc(), batches.c.service)
    )
    return [ServiceTraffic.model_validate(dict(row._mapping)) for row in connection.execute(statement)]
