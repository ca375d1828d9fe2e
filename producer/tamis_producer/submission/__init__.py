"""A batch before it is in the ledger: its items, its bounds and its budget."""
