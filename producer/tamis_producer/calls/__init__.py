"""Single calls: what a service asks of one item, and how it is told of the answer."""
