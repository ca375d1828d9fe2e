"""Workers: claim items, ask the model under one shared limit, record the results."""
