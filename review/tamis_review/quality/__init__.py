"""The quality of a batch's decisions, measured against human ones: pure statistics, without a server."""
