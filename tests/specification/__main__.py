"""Writes docs/specification.md; says what is wrong where requirements and marks do not fit."""

import sys

from .page import PAGE, written_page

try:
    PAGE.write_text(written_page(), "utf-8")
except ValueError as faults:
    sys.exit(str(faults))
print(PAGE)  # noqa: T201 - a command
