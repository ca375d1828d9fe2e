"""The worker's side of the ledger: one statement per file, all on the worker's one event loop."""
