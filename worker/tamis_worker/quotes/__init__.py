"""Quotes: whether a text holds what an answer quotes from it."""
