"""A small screening on made-up citations, from nothing to decisions in one command."""
