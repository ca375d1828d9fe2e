"""Answers: the results of items, their authors, and their evidence."""
