"""The embedded stack: real servers, a small model and workers under a supervising process, for a single machine."""
