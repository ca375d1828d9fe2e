"""A batch before it is written: its items, its bounds and its budget."""
