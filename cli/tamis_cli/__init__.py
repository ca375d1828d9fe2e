"""The command line: commands, the servers that it can run itself, checks of the installation, and dry runs.

Only this package imports all other packages of Tamis.
"""
