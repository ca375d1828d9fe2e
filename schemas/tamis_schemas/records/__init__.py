"""Records: items, papers, chunks and their sources."""
