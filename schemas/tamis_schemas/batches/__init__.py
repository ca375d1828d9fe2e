"""Batches: their states, their terms, their counts, and their names in messages."""
