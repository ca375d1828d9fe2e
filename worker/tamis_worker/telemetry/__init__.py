"""The reports of a worker about its work: traces and metrics. Neither ever affects the work."""
