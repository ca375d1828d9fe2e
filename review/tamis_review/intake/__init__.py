"""Intake: the records of a bibliographic file, as items; and items as a bibliographic file again.

`read_file`, `read_records` and `write_records` are the public names. What a file holds is decided by its content,
never by its name.

| module | owns |
|---|---|
| `decode` | bytes to text |
| `recognise` | which format a text is in |
| `ris`, `nbib`, `bibtex`, `endnote_xml`, `delimited`, `jsonl` | one format each, read and written |
| `ris_tags`, `nbib_tags`, `bibtex_values`, `columns` | what the fields of these hold |
| `bibtex_writing`, `delimited_writing`, `endnote_writing` | how BibTeX, CSV and EndNote XML are written |
| `latex`, `endnote_paths`, `endnote_notes` | LaTeX's characters; the places of EndNote's XML, and the notes in it |
| `record`, `record_type` | the canonical names of a record, what makes its id, and its type |
| `source`, `fields` | how a record remembers the fields of its file, and gives them back |
| `decision` | the decision on a record, as an export says it |
| `labels` | the column in which a human says which records were included |
| `stated_source`, `sourced_records` | a source as a reviewer states it; the sources of some files, read |
| `completion`, `filling` | two forms of one export as one; what a record lacks, taken from others with its origin |
| `duplicates`, `likeness` | which records are copies of one another, or may be; what two records are to each other |
| `traits`, `titles`, `journals` | what is compared of a record |
| `formats`, `reading`, `writing` | which module reads and writes a format; one file as a whole |
"""

from tamis_schemas.lazy import exports

__getattr__, __all__ = exports(__name__, __file__)
