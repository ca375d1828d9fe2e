"""The embedded stack: real servers, a small model and workers under one supervising process, for one machine."""
