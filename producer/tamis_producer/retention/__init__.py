"""Retention: archiving and deleting finished batches."""
