"""Workers: claim items, ask the model under one shared limit, record what came out."""
