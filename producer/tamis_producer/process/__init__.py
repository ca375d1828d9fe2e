"""What every part of a process uses: how it waits, what a fork means, and how it is traced."""
