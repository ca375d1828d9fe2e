"""The reading order of a batch: the records that are most useful for a person come first."""
