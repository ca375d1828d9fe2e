"""Runs: what is done with a batch after its submission, until it ends."""
