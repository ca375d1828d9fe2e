"""What a batch's results cost, in SQL: expressions over `results`, wherever they are summed up."""

from sqlalchemy import func

from .tables import results

PAID = func.coalesce(func.sum(results.c.cost), 0)  # dollars, as far as prices are known
UNPRICED = func.count().filter(results.c.cost.is_(None), results.c.calls > 0)  # items without a known price
