"""Transport: items and aggregates as Celery messages, through the broker."""
