"""The command line: commands, the embedded stack, the doctor, dry runs. The only package that knows all the others."""
