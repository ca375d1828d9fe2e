"""The real records beside the checkout, in `../shared/data`; they are not part of the project."""

import os
from pathlib import Path

import pytest

SHARED = Path(__file__).parents[3] / "shared"
DATA = SHARED / "data"
EXAMPLES = SHARED / "cases" / "files"  # small made-up files, one for each kind of fault

# A clone of its own has no real records and leaves these tests out; in CI their absence is a failure.
needs_real_records = pytest.mark.skipif(
    not DATA.is_dir() and not os.environ.get("CI"), reason=f"no real records at {DATA}"
)
