"""Run by Python itself at the start of a process."""

import os
import sys

for name in filter(None, os.environ.get("HIDDEN_PACKAGES", "").split(",")):
    sys.modules[name] = None  # type: ignore[assignment] # an import of it then fails as one of a missing module does
