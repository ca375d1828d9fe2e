"""Maintenance: what a worker does beside its items, for the ledger as a whole."""
