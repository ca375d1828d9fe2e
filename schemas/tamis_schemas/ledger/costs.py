"""The cost of a batch's results, in SQL: over `results`, where rows are read, and over their counters."""

from sqlalchemy import func

from .tables import items, results, tallies

PAID = func.coalesce(func.sum(results.c.cost), 0)  # dollars, as far as prices are known
UNPRICED = func.count().filter(results.c.cost.is_(None), results.c.calls > 0)  # items without a known price

UNANSWERED = func.coalesce(func.sum(results.c.unanswered), 0)  # calls that were sent and never answered
LOST_CLAIMS = func.coalesce(func.sum(items.c.lost_claims), 0)  # claims whose worker died; over `items`
# Dollars that an item cost which something was paid for; 0 where calls are free. NULL: no item's cost is known.
MEAN_PAID = func.coalesce(
    func.avg(results.c.cost).filter(results.c.cost > 0),
    func.min(results.c.cost).filter(results.c.calls > results.c.unanswered),
)
# Dollars that an item without an error cost, over `tallies`: what another one may cost. NULL: none has a known price.
TALLIED_LIKELY_COST = func.sum(tallies.c.decided_cost) / func.nullif(func.sum(tallies.c.decided_priced), 0)
