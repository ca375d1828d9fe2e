"""One worker process: its parts, its run, and its Celery tasks."""
