"""Configuration of a worker."""
