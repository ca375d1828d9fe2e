"""Costs: the prices of models, and possible charges that are in no bill."""
