"""Maintenance: a worker's tasks for the whole ledger, besides its items."""
