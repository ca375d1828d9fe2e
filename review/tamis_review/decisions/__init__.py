"""Decisions: the final outcome of a record, from the software and from people."""
