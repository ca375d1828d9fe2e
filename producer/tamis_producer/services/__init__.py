"""Services: evaluations that are awaited item by item."""
