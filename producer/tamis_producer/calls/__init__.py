"""Single calls: a service's question about one item, and the answer."""
