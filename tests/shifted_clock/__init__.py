"""A folder for the path of a child process: its `sitecustomize` gives the child a clock that is wrong."""
