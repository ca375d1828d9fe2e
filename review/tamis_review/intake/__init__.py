"""Intake: the readers and writers of bibliographic files.

`read_file`, `read_records` and `write_records` are the public names. A file's content determines its format, never its
name.

| module | contents |
|---|---|
| `recognise` | the format of a text |
| `reading`, `writing` | a file as a whole, and the function of each format |
| `tagged` | the reader of tagged formats, each described by a table |
| `ris`, `nbib`, `delimited`, `jsonl` | one format each, read and written; `jsonl` also reads JSON |
| `csl` | the canonical fields of CSL JSON |
| `bibtex`, `endnote_xml` | the readers of BibTeX and EndNote XML |
| `bibtex_writing`, `endnote_writing` | the writers of BibTeX and EndNote XML |
| `wos_and_enw`, `pubmed_text`, `pubmed_xml` | the readers of formats of Web of Science, EndNote and PubMed |
| `bibtex_values`, `latex`, `endnote_paths` | parts of BibTeX (values, characters) and of EndNote XML (paths) |
| `columns`, `column_mappings`, `cell_rows` | parts of tables: columns, columns of certain databases, rows |
| `record`, `record_type` | the canonical names of a record, its id, and its type |
| `details` | further parts of a citation, in other formats |
| `source`, `fields` | the original fields stored in a record; the fields that a writer makes from them |
| `notes` | texts that became no record |
| `decision` | the decision on a record in an export |
| `labels` | the column with a human's inclusions |
| `stated_source`, `sourced_records` | a source as a reviewer states it; the sources of some files |
| `filling` | missing fields, copied from other records with their origin |
| `duplicates`, `likeness` | the duplicates and doubtful pairs among records; the verdict on two records |
| `traits`, `journals` | the compared parts of a record |
"""

from tamis_schemas.lazy import exports

__getattr__, __all__ = exports(__name__, __file__)
