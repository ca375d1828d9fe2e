"""The worker's statements in the ledger. All run on the worker's one event loop."""
