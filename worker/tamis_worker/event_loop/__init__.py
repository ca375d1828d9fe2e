"""The worker's one event loop, and the bridge from other threads to the loop."""
