"""Celery's internals, in one room: how messages come in, and how they are acknowledged."""
