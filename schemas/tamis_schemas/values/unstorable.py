"""What no text of the ledger can hold."""

import re

UNSTORABLE = re.compile("[\\x00\\ud800-\\udfff]")  # NUL and halves of surrogate pairs
