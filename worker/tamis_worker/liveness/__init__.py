"""Liveness: whether a worker works, reported to its watchdog, the ledger and probes."""
