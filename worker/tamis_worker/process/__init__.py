"""One worker process: put together, run, and its Celery tasks."""
