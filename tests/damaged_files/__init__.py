"""Files that came to harm: a few records in each format that is read, and the ways in which a file is damaged.

`SAMPLES[format]` is a whole file in pieces, one a record, with what stands before and behind them. `CONFINED` damages
one piece and leaves the others as they are; `ANYWHERE` damages the bytes of a whole file.
"""

from damaged_files.damage import ANYWHERE, CONFINED, Confined, Damage
from damaged_files.samples import SAMPLES, Sample

__all__ = ["ANYWHERE", "CONFINED", "SAMPLES", "Confined", "Damage", "Sample"]
