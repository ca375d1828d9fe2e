"""A source: the file from which a batch's records come, and what was done before any model saw them."""

from pydantic import Field

from ..values.frozen import Frozen


class Source(Frozen):
    """The origin of the records, for a methods section: where from, how read, how filtered."""

    file: str  # its name, without the folder
    format: str  # RIS, CSV, ...
    encoding: str  # utf-8, utf-16, cp1252, ...
    replaced: int = 0  # bytes that were not valid in that encoding, and were read as cp1252
    skipped: int = 0  # lines and the like that belong to no record
    lost: int = 0  # records that could not be read
    sha256: str  # of the file's bytes
    duplicates_kept: bool = False  # True: copies of a record were screened as well
    initial_filter: bool = False  # True: tier 1 rejected records before any model was asked
    switched_off: dict[str, str] = Field(default_factory=dict)  # rules of tier 1 that did not apply -> why not
