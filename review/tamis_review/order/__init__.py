"""The reading order of a batch's records: the most useful for a person come first."""
