"""The words and patterns of the initial filter, under the names of its specification. `rules` has their meanings.

The three lists may be changed before an `InitialFilter` is made:

    DEFINITIVE_TITLE_PATTERNS.append(r"\\bsimulation\\b")
    NEGATIVE_CONTEXT_PATTERNS.append(r"based on prior {keyword}")
    DEFAULT_EXCLUSION_KEYWORDS.append("simulation study")

Patterns use RE2's syntax (no lookaround, no backreferences) and ignore case. `(?:\\w+\\s+)*` in a context matches at
most `GAP_WORDS` words. No context extends beyond the sentence that mentions the keyword.
"""

from .rules import MEANINGS, TITLE_MEANINGS

MIN_ABSTRACT_LENGTH = 50  # characters; without a title, a shorter abstract is too little to screen

# The confidence of a rejection by what matched.
DEFINITIVE_CONFIDENCE = 0.95  # a definitive pattern
HIGH_CONFIDENCE_THRESHOLD = 0.85  # a keyword in the title
MEDIUM_CONFIDENCE_THRESHOLD = 0.6  # a keyword in the abstract

GAP_WORDS = 8

DEFINITIVE_TITLE_PATTERNS: list[str] = [*TITLE_MEANINGS]

# Words between a context and the keyword: `_FEW` within a phrase, `_LIST` across a list with commas.
_FEW = r"(?:[\w'/,()-]+\s+){0,5}"
_LIST = r"(?:\S+\s+){0,40}"

NEGATIVE_CONTEXT_PATTERNS: list[str] = [
    # Exclusion statements
    r"(?:we |were |was )?exclud(?:ed|ing)\s+(?:\w+\s+)*{keyword}",
    r"{keyword}\s+(?:\w+\s+)?(?:were|was)\s+(?:\w+\s+)?excluded",
    # Comparative statements
    r"unlike\s+(?:\w+\s+)*{keyword}",
    r"(?:in\s+)?contrast\s+to\s+(?:\w+\s+)*{keyword}",
    r"(?:prior|previous|earlier)\s+(?:\w+\s+)*{keyword}",
    # Limitation discussions
    r"limit(?:ed|ation)s?\s+(?:of\s+)?(?:\w+\s+)*{keyword}",
    r"differ(?:s|ed|ing|ent)?\s+(?:from\s+)?(?:\w+\s+)*{keyword}",
    # Beyond the specification: exclusions of a whole list, with any form of "exclude"
    rf"\bexclu(?:de|des|ded|ding|sion|sions|sion criteria)\b:?\s+{_LIST}{{keyword}}",
    rf"{{keyword}}\S*\s+{_LIST}(?:were|was|are|is|be|been|being)\s+(?:\w+\s+){{0,3}}"
    r"(?:excluded|omitted|removed|ineligible)\b",
    rf"{{keyword}}\S*\s+{_LIST}not\s+(?:be\s+)?(?:included|eligible|considered|analy[sz]ed)\b",
    rf"\bnot\s+(?:\w+\s+)?(?:includ\w+|consider\w*|analy[sz]e\w*)\s+{_LIST}{{keyword}}",
    # Negations and comparisons
    rf"\b(?:no|not|neither|nor|never|without|lack of|absence of)\s+{_FEW}{{keyword}}",
    r"\bnon[\s-]*{keyword}",
    rf"\b(?:other than|rather than|instead of|apart from|except|except for|as opposed to|beyond|besides)\s+{_FEW}"
    r"{keyword}",
    rf"\b(?:compared|comparison|comparing|compare|comparable|consistent|inconsistent|in line|agreement|contrary|"
    rf"analogous|similar|similarly|parallels?)\s+(?:to|with)\s+{_FEW}{{keyword}}",
    # Earlier findings of others
    rf"\b(?:previously|historically|traditionally|already)\s+{_FEW}{{keyword}}",
    rf"\b(?:several|numerous|many|few|isolated|anecdotal|sporadic|published|available|existing|mostly|mainly)\s+{_FEW}"
    r"{keyword}",
    rf"\b(?:evidence|insights?|knowledge|literature|extrapolat\w+|translat\w+)\s+(?:from|of|in|on)\s+{_FEW}{{keyword}}",
    r"{keyword}\S*\s+(?:\w+\s+){0,4}(?:have|has)\s+(?:\w+\s+)?(?:shown|suggest\w+|demonstrat\w+|indicat\w+|report\w+|"
    r"implicat\w+|reveal\w+|provid\w+|been|found|establish\w+|link\w+|describ\w+|focus\w+)\b",
    r"{keyword}\S*\s+(?:\w+\s+){0,2}(?:suggest|indicate|imply)\b",
    # Reviews of such papers
    rf"\b(?:reviews?|reviewed|reviewing|meta-analys[ie]s|synthes[ie]s|overview|search(?:es|ed)?|analysis|survey)\s+"
    rf"(?:of|on|for)\s+{_FEW}{{keyword}}",
    # Future work
    rf"\b(?:future|further|additional|subsequent)\s+{_FEW}{{keyword}}",
    rf"{{keyword}}\S*\s+{_FEW}(?:needed|required|warranted|lacking|scarce)\b",
    # People and the keyword, side by side
    rf"\b(?:humans?|patients?|clinical|clinically|naturalistic)\s+(?:\w+\s+)?(?:and|or|and/or|versus|vs\.?)\s+{_FEW}"
    r"{keyword}",
    r"{keyword}\S*\s+(?:\w+\s+)?(?:and|or|and/or|versus|vs\.?)\s+(?:\w+\s+){0,2}(?:humans?|patients?|clinical|people)\b",
]

DEFAULT_EXCLUSION_KEYWORDS: list[str] = [*MEANINGS]
