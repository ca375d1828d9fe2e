"""The client: batches and reviews as Python programs hold them, synchronous and asynchronous."""
