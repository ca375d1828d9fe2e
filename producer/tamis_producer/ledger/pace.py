"""The pace of a batch that runs: how many of its items ended in the last minutes of work, never over a pause."""

WINDOW = 600  # s looked back at most
LOOKED_AT = 500  # results at most: those of the highest places, which ended last, as places are taken in their order

FEWEST = 20  # of them, where they do not reach back to where the time begins

# A pause takes the shards in flight back, and they are dispatched anew when it goes on: what lies before the first
# dispatch of those in flight may be a pause. Where the results that are looked at do not reach back so far, the time
# begins with the first of them. Of a batch that does not run nothing is looked at.
PACE = f"""LEFT JOIN LATERAL (
       SELECT greatest(min(dispatched_at), now() - interval '{WINDOW} seconds') AS since, max(end_idx) AS behind
         FROM shards
        WHERE shards.batch_id = b.id AND shards.round = b.round AND shards.state = 'dispatched' AND b.state = 'running'
       ) AS flight ON true
  LEFT JOIN LATERAL (
       SELECT count(*) FILTER (WHERE own AND created_at >= flight.since) AS ended,
              extract(epoch FROM now() - CASE
                  WHEN count(*) < {LOOKED_AT} OR bool_or(own AND created_at < flight.since) THEN flight.since
                  WHEN count(*) FILTER (WHERE own) >= {FEWEST} THEN min(created_at) FILTER (WHERE own)
              END) AS seconds
         FROM (SELECT created_at, round = b.round AS own
                 FROM results
                WHERE results.batch_id = b.id AND results.idx < flight.behind
                ORDER BY results.idx DESC LIMIT {LOOKED_AT}) AS last
       ) AS recent ON true"""  # noqa: S608 - of numbers that stand in the code


def pace(ended: int | None, seconds: float | None) -> float | None:
    """Return the items that ended a second; None where none ended, or no time has passed."""
    return ended / float(seconds) if ended and seconds else None
