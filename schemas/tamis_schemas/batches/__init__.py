"""Batches: their states, plans, options and counts, and the names that processes share."""
