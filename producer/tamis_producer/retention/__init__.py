"""Retention: what may be deleted, archived and verified before, and brought back."""

from .aged import AGED, Aged, prune
from .archive import Archive, ArchiveFormat, find_archives, read_archive, verify
from .deletion import delete_slice
from .purge import Purged, archive_and_mark, purge
from .restoration import Restored, restore
from .space import give_back, space_taken
from .subjects import Subject, find_subjects, measure

__all__ = [
    "AGED",
    "Aged",
    "Archive",
    "ArchiveFormat",
    "Purged",
    "Restored",
    "Subject",
    "archive_and_mark",
    "delete_slice",
    "find_archives",
    "find_subjects",
    "give_back",
    "measure",
    "prune",
    "purge",
    "read_archive",
    "restore",
    "space_taken",
    "verify",
]
