"""What an endpoint or a model can be like: one file each, chosen by name, scripted together in order."""
