"""Single calls of services, counted by service and hour: nobody wants to see a batch for each."""

from sqlalchemy import Connection, func, select, true

from tamis_schemas.ledger import batches, tallies

from .batch_view import ServiceTraffic


def read_service_traffic(connection: Connection, *, hours: int = 24) -> list[ServiceTraffic]:
    """The calls of the last so many hours, this one among them; the latest hour first, services by their names."""
    hour = func.date_trunc("hour", batches.c.created_at).label("hour")
    begins = func.date_trunc("hour", func.now()) - func.make_interval(0, 0, 0, 0, hours - 1)
    c = tallies.c
    tallied = (
        select(
            func.sum(c.failed).label("failed"),
            func.sum(c.pending + c.running).label("open"),
            func.sum(c.cost).label("cost"),
            func.sum(c.unpriced).label("unpriced"),
        )
        .where(c.batch_id == batches.c.id)
        .lateral("tallied")
    )
    statement = (
        select(
            batches.c.service,
            hour,
            func.sum(batches.c.n_items).label("calls"),
            func.coalesce(func.sum(tallied.c.failed), 0).label("failed"),
            func.coalesce(func.sum(tallied.c.open), 0).label("open"),
            func.coalesce(func.sum(tallied.c.cost), 0).label("cost"),
            func.coalesce(func.sum(tallied.c.unpriced), 0).label("unpriced"),
        )
        .select_from(batches)
        .join(tallied, true())
        .where(batches.c.service.is_not(None), batches.c.created_at >= begins, batches.c.purging_at.is_(None))
        .group_by(batches.c.service, hour)
        .order_by(hour.desc(), batches.c.service)
    )
    return [ServiceTraffic.model_validate(dict(row._mapping)) for row in connection.execute(statement)]
