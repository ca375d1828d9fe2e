"""What a worker tells of its work while it goes on: traces and metrics. Neither ever touches the work."""
