"""A dry run: the prompts of a batch, rendered and counted before anything is submitted."""
