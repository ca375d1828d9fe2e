"""Quotes: the check whether a text contains the quotes of an answer."""
