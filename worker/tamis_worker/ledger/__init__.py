"""The SQL statements with which a worker uses the ledger. All of them run on the worker's event loop."""
