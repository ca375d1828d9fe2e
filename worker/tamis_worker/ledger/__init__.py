"""The worker's side of the ledger: one statement a file, all on the worker's one event loop."""
