"""Retention: what may be deleted, archived and verified before, and brought back."""

from .answers import prune_all_answers, prune_answers
from .archive import Archive, ArchiveFormat, find_archives, read_archive, verify
from .deletion import delete_slice
from .letters import prune_dead_letters
from .purge import Purged, archive_locked, purge
from .restoration import Restored, restore
from .space import give_back, space_taken
from .subjects import Subject, find_subjects, measure

__all__ = [
    "Archive",
    "ArchiveFormat",
    "Purged",
    "Restored",
    "Subject",
    "archive_locked",
    "delete_slice",
    "find_archives",
    "find_subjects",
    "give_back",
    "measure",
    "prune_all_answers",
    "prune_answers",
    "prune_dead_letters",
    "purge",
    "read_archive",
    "restore",
    "space_taken",
    "verify",
]
