"""The reading order of a batch's records: those that a human should read next stand first."""
