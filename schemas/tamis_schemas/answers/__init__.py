"""Answers: the results of items, who gave them, and their evidence."""
