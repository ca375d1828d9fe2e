"""Services that every part of a process uses: waiting, forks and traces."""
