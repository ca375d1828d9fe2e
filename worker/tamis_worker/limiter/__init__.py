"""The limiter: requests and tokens of a minute, shared by all worker processes."""
