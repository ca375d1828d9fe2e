"""Liveness: whether a worker works, told to its watchdog, to the ledger and to probes."""
