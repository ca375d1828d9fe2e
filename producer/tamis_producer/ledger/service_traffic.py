"""Single calls of services, counted by service and hour: nobody wants to see a batch for each."""

from .batch_view import ServiceTraffic
from .statements import RunsStatements

COLUMNS = tuple(ServiceTraffic.model_fields)
STATEMENT = """
SELECT service, date_trunc('hour', created_at) AS hour, sum(n_items) AS calls,
       coalesce(sum(tallied.failed), 0) AS failed, coalesce(sum(tallied.open), 0) AS open,
       coalesce(sum(tallied.cost), 0) AS cost, coalesce(sum(tallied.unpriced), 0) AS unpriced
  FROM batches
  JOIN LATERAL (
       SELECT sum(failed) AS failed, sum(pending + running) AS open, sum(cost) AS cost, sum(unpriced) AS unpriced
         FROM tallies WHERE tallies.batch_id = batches.id) AS tallied ON true
 WHERE service IS NOT NULL AND purging_at IS NULL
   AND created_at >= date_trunc('hour', now()) - make_interval(hours => %(before)s)
 GROUP BY service, hour
 ORDER BY hour DESC, service
"""


def read_service_traffic(connection: RunsStatements, *, hours: int = 24) -> list[ServiceTraffic]:
    """The calls of the last so many hours, this one among them; the latest hour first, services by their names."""
    rows = connection.exec_driver_sql(STATEMENT, {"before": hours - 1})
    return [ServiceTraffic.model_validate({name: getattr(row, name) for name in COLUMNS}) for row in rows]
