"""A world of worker processes under one shared limit, in which only the clock is not real.

The Lua script runs on a real server and the processes' accounts are the real ones; time is counted, not waited for, so
that minutes pass in a second. The script takes its clock from the last argument instead of from the server: its text is
changed for that here, and nowhere else.
"""

from .endpoint import Endpoint, Refused
from .world import Begun, Process, World

__all__ = ["Begun", "Endpoint", "Process", "Refused", "World"]
