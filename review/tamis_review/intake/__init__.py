"""Intake: the records of a bibliographic file, as items; and items as a bibliographic file again.

`read_file`, `read_records` and `write_records` are the public names. What a file holds is decided by its content,
never by its name.

| module | owns |
|---|---|
| `recognise` | which format a text is in |
| `reading`, `writing` | a file as a whole, and the function of each format |
| `tagged` | the reader of tagged formats, each of which is a table |
| `ris`, `nbib`, `bibtex`, `endnote_xml`, `delimited`, `jsonl` | one format each; all but two of them also write it |
| `bibtex_writing`, `endnote_writing` | how BibTeX and EndNote XML are written |
| `wos_and_enw`, `pubmed_text` | Web of Science's tags and EndNote's, PubMed's abstracts |
| `bibtex_values`, `latex`, `endnote_paths` | values of BibTeX; LaTeX's characters; the places of EndNote's XML |
| `columns`, `column_mappings`, `cell_rows` | what columns hold, also in the tables of one source; rows |
| `record`, `record_type` | the canonical names of a record, what makes its id, and its type |
| `details` | what a citation has besides, in other formats |
| `source`, `fields` | how a record remembers the fields of its file, and gives them back |
| `notes`, `between` | what became no record |
| `decision` | the decision on a record, as an export says it |
| `labels` | the column in which a human says which records were included |
| `stated_source`, `sourced_records` | a source as a reviewer states it; the sources of some files, read |
| `filling` | what a record lacks, taken from others with its origin |
| `duplicates`, `likeness` | which records are copies of one another, or may be; what two records are to each other |
| `traits`, `journals` | what is compared of a record |
"""

from tamis_schemas.lazy import exports

__getattr__, __all__ = exports(__name__, __file__)
