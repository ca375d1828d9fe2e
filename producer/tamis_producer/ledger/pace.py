"""The pace of a batch that runs: how many of its items ended in the last minutes of work, never over a pause.

The time begins with the first result, so that nothing counts of the start: not the wait for a worker, nor a first call
that loads a model or finds out alone how the endpoint is asked.
"""

WINDOW = 600  # s looked back at most
LOOKED_AT = 500  # results at most: those of the highest places, which ended last, as places are taken in their order

# A pause takes the shards in flight back, and they are dispatched anew when it goes on: what lies before the first
# dispatch of those in flight may be a pause. Of a batch that does not run nothing is looked at.
PACE = f"""LEFT JOIN LATERAL (
       SELECT greatest(min(dispatched_at), now() - interval '{WINDOW} seconds') AS since, max(end_idx) AS behind
         FROM shards
        WHERE shards.batch_id = b.id AND shards.round = b.round AND shards.state = 'dispatched' AND b.state = 'running'
       ) AS flight ON true
  LEFT JOIN LATERAL (
       SELECT count(*) AS ended, extract(epoch FROM max(created_at) - min(created_at)) AS spread,
              extract(epoch FROM now() - min(created_at)) AS since_first, min(latency_ms) / 1000.0 AS shortest_call
         FROM (SELECT created_at, latency_ms, round = b.round AS own
                 FROM results
                WHERE results.batch_id = b.id AND results.idx < flight.behind
                ORDER BY results.idx DESC LIMIT {LOOKED_AT}) AS last
        WHERE own AND created_at >= flight.since) AS recent ON true"""  # noqa: S608 - of numbers that stand in the code


def pace(ended: int, spread: float | None, since_first: float | None, shortest_call: float | None) -> float | None:
    """Return the items that ended a second after the first one; None where no second one ended, or no time has passed.

    Calls in flight together end together: the time is that of the shortest call at least. While nothing ends, the
    endpoint may be busy with the next calls for as long as the results took so far; then the pace falls.

    Args:
        ended: the results that are looked at.
        spread: seconds from the first of them to the last.
        since_first: seconds from the first of them to now.
        shortest_call: seconds that the shortest of their calls took; None where all came from the cache.
    """
    if ended < 2 or spread is None or since_first is None:
        return None
    seconds = max(float(spread), float(since_first) / 2, float(shortest_call or 0))
    return (ended - 1) / seconds if seconds else None
