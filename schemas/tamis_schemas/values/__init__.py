"""Values: money, shares with intervals, and texts."""
