"""Celery's internals: the receipt of messages, and their acknowledgement."""
