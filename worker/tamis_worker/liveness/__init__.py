"""Liveness: a worker's reports of whether it works, to its watchdog, the ledger and probes."""
