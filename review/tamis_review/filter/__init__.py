"""Screening: the initial filter (tier 1), which rejects what a title or an abstract says of itself.

Pure: records in, results out; no file, no network, no clock. `docs/screening.md` says what each rule does, and
`docs/screening-benchmarks.md` what it costs on labelled records.

| module | owns |
|---|---|
| `patterns` | the words and patterns that a caller may extend, and the thresholds |
| `initial_filter` | the order of the rules, the results, and whether one mention rejects |
| `rules` | what a default keyword stands for, and what must stand beside it |
| `keywords` | the mentions of all keywords in a text, and the spellings of one |
| `contexts` | what protects one mention, and what makes it say something of the paper itself |
| `evidence` | whom and what a paper studies, by its own words |
| `exclusions` | what an exclusion sentence covers |
| `soft_hyphens` | a text without its soft hyphens, and places in the original |
| `inclusions` | which rules the criteria switch off |
| `compiled` | the one place where patterns are compiled |
"""

from tamis_schemas.lazy import exports

__getattr__, __all__ = exports(__name__, __file__)
