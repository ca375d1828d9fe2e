"""Enforces a strict schema: what a double without personalities does."""

from .behaviour import Behaviour


class Strict(Behaviour):
    """Shows the model the schema in `response_format`, and lets it write nothing else."""
