"""The limiter of requests and tokens per minute, which all worker processes share."""
