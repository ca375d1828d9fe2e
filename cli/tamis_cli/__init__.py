"""The command line: commands, the embedded stack, the doctor, and dry runs. Only this package imports all others."""
