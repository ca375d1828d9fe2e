"""Batches: their states, their terms, their counts, and the names under which they travel."""
