"""Terms: what names, in a review's criteria, the papers that a rule rejects."""

from collections.abc import Mapping

from tamis_schemas.answers.filter_result import FilterRule

TERMS: Mapping[FilterRule, str] = {
    FilterRule.ANIMAL: r"animals?|mouse|mice|murine|rats?|rodents?|rabbits?|dogs?|canines?|cats|felines?|pigs?|"
    r"piglets?|porcine|swine|bovine|cattle|cows?|sheep|goats?|horses?|equine|primates?|monkeys?|zebrafish|livestock|poultry|"
    r"in[\s-]+vivo|pre-?clinical|veterinary|non-?human(?:s| primates)?|(?:all|any)\s+species|mammals?",
    FilterRule.IN_VITRO: r"in[\s-]+vitro|ex[\s-]+vivo|cell[\s-]+(?:cultures?|lines?|models?|studies)|cultured\s+cells|"
    r"cell-based|pre-?clinical|laborator(?:y|ies)|organoids?|bench",
    FilterRule.CASE_REPORT: r"case[\s-]+(?:reports?|stud(?:y|ies)|descriptions?|histor(?:y|ies))|"
    r"(?:single|individual)[\s-]+(?:patient\s+)?cases?|n-of-1",
    FilterRule.CASE_SERIES: r"case[\s-]+series|series\s+of\s+(?:cases|patients)|consecutive\s+cases",
    FilterRule.PROTOCOL: r"protocols?",
    FilterRule.OPINION: r"editorials?|commentar(?:y|ies)|letters?|correspondence|viewpoints?|"
    r"opinion\s+(?:papers?|pieces?|articles?)",
    FilterRule.CORRECTION: r"errat(?:um|a)|corrigend(?:um|a)|published\s+corrections?",
    FilterRule.RETRACTED: r"retracted|retractions?|withdrawn\s+(?:articles?|papers?|publications?)",
}

_NO_LIMIT = r"no\s+(?:\w+\s+)?(?:restrictions?|limits?|limitations?)\s+(?:\w+\s+){0,4}"
_ANY_DESIGN = (
    r"(?:all|any|every)\s+(?:types?\s+of\s+|kinds?\s+of\s+)?(?:\w+\s+)?(?:stud(?:y|ies)\s+)?(?:designs?|study\s+types?)\b|"
    r"(?:all|any|every)\s+(?:types?|kinds?)\s+of\s+(?:\w+\s+)?stud(?:y|ies)\b|"
    r"(?:regardless|irrespective)\s+of\s+(?:the\s+)?(?:\w+\s+)?(?:design|type)\b|"
    rf"{_NO_LIMIT}(?:designs?|types?)\b"
)
_ANY_TYPE = (
    r"(?:all|any|every)\s+(?:types?\s+of\s+)?(?:publications?|articles?|documents?)(?:\s+types?)?\b|"
    r"(?:regardless|irrespective)\s+of\s+(?:the\s+)?publication\s+(?:type|status)\b|"
    rf"{_NO_LIMIT}(?:publication|article)\s+types?\b"
)
# What includes the papers of a rule without naming them, unless the criteria exclude them in words.
GENERAL_TERMS: Mapping[FilterRule, str] = {
    FilterRule.CASE_REPORT: f"{_ANY_DESIGN}|{_ANY_TYPE}",
    FilterRule.CASE_SERIES: f"{_ANY_DESIGN}|{_ANY_TYPE}",
    FilterRule.PROTOCOL: _ANY_TYPE,
    FilterRule.OPINION: _ANY_TYPE,
}
# Papers of the one kind speak of the other. Where the criteria include the one, they must exclude the other in words.
RELATIVES: Mapping[FilterRule, FilterRule] = {
    FilterRule.ANIMAL: FilterRule.IN_VITRO,
    FilterRule.IN_VITRO: FilterRule.ANIMAL,
    FilterRule.CASE_REPORT: FilterRule.CASE_SERIES,
    FilterRule.CASE_SERIES: FilterRule.CASE_REPORT,
}
