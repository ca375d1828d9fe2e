"""What the service does."""
