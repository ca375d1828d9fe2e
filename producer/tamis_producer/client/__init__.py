"""The client: batches and reviews as Python objects, synchronous and asynchronous."""
