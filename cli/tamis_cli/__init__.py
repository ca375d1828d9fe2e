"""The command line: commands, the embedded stack, the doctor, dry runs. Only this package imports all others."""
