"""On a process's PYTHONPATH, its OpenTelemetry SDK raises in the calls that BROKEN_TELEMETRY names."""
