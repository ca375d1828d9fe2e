"""Records: what an item, a paper and a passage are, and where they came from."""
