"""Values that stand for themselves: money, shares with intervals, and texts."""
