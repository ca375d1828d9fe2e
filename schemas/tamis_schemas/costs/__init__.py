"""Costs: what models charge, and what may have been charged and stands in no bill."""
