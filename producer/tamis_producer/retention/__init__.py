"""Retention: what may be deleted, archived and verified before, and brought back."""
