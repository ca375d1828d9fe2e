"""The quality of a batch's decisions, compared with people's decisions. Pure statistics, without a server."""
