"""Maintenance of the whole ledger by the workers: repairs of stopped work, and the deletion of old data."""
