"""Quotes: checks that a text contains the quotes of an answer."""
