"""A dry run: the prompts of a batch, rendered and counted, while nothing is submitted."""
