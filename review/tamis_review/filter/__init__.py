"""The initial filter (tier 1), which rejects records by their titles and abstracts before a model is asked.

The rules are pure functions, without files, network or clock. `docs/screening.md` describes each rule.
`docs/screening-benchmarks.md` shows how many included records each rule lost on labelled files.

| module | contents |
|---|---|
| `patterns` | the words and patterns that a caller may extend, and the thresholds |
| `initial_filter` | the order of the rules, the results, and the decision on one mention of a keyword |
| `rules` | the meaning of a default keyword, and its conditions |
| `keywords` | the mentions of all keywords in a text, and their spellings |
| `contexts` | contexts that protect a mention, or that apply it to the paper itself |
| `evidence` | the people and animals that a paper studies, by its own words |
| `exclusions` | the passages that list excluded papers |
| `soft_hyphens` | a text without its soft hyphens, and the positions in the original text |
| `inclusions` | the rules that the criteria switch off |
| `compiled` | the compilation of all patterns |
"""

from tamis_schemas.lazy import exports

__getattr__, __all__ = exports(__name__, __file__)
