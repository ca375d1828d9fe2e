"""The worker's one event loop, and the bridge to it."""
