"""Retention: what may be deleted, and archived before."""
