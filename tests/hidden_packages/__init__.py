"""On a process's PYTHONPATH, the modules that HIDDEN_PACKAGES names are not installed for it."""
