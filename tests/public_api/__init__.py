"""What is promised to stay: public names, settings, commands, messages, and what SQL users read.

`python -m tests.public_api` writes `recorded.txt`. A difference is a change for a user, for the changelog.
"""

from .surface import RECORDED, surface

__all__ = ["RECORDED", "surface"]
