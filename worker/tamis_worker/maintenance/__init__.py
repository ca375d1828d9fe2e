"""Maintenance: the tasks of workers for the whole ledger: repairs, and the deletion of old data."""
