"""Answers: what an item ended with, who said so, and what supports it."""
