"""The reports of a worker about its work: logs, traces and metrics. Traces and metrics never affect the work."""
