"""The meaning of each default keyword: its rule, when a mention rejects a paper, and idioms with another meaning."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from tamis_schemas.answers.filter_result import FilterRule

from .patterns import OTHER_SPECIES, REPLIES, SINGLE_CASES


class Weight(StrEnum):
    """The condition under which a mention of a keyword rejects the paper."""

    ASKED_FOR = "asked for"  # a caller's own keyword: any mention rejects
    SUBJECT = "subject"  # rejects if the paper does not mention people, or studies the subject in its own work
    SPECIES = "species"  # rejects in a title without people, unless the abstract studies people
    HINT = "hint"  # as SUBJECT, but in an abstract only if the paper mentions animals or works with them
    WEAK_HINT = "weak hint"  # rejects if the paper mentions no people, and animals; a title needs no animals
    DESIGN = "design"  # rejects in a title without another design, or in an abstract about its own paper
    SERIES = "series"  # as DESIGN, unless the paper counts ten patients or more
    TYPE = "type"  # as DESIGN, but a title that begins or ends with the type always rejects
    PLAN = "plan"  # rejects in any title, or in an abstract about its own paper
    NOTICE = "notice"  # rejects in any title; in an abstract only with "this", else it is a note on the paper
    STATUS = "status"  # rejects if title or abstract applies it to the paper itself


@dataclass(frozen=True)
class KeywordMeaning:
    """The meaning of a keyword to the filter."""

    rule: FilterRule
    weight: Weight
    idioms: tuple[str, ...] = ()  # contexts, with {keyword}, that give the keyword another meaning


_TEETH = (
    r"(?:maxillary|mandibular|impacted|upper|lower|primary|permanent|ectopic|displaced|erupt\w+|transposed)\s+"
    r"(?:\w+\s+)?{keyword}",
    r"{keyword}\s+(?:teeth|tooth|fossa|retraction|guidance|impaction|substitution|eruption|eminence|region|space|crown|"
    r"root|distali\w+|width|relationship|exposure|assisted|companion|search|handlers?|units?|therap\w+|programs?|programmes?|cushion)",
    r"(?:incisor|premolar|molar|bicuspid)s?,?\s+(?:and\s+)?(?:\w+\s+)?{keyword}",
    r"{keyword},?\s+(?:and\s+)?(?:\w+\s+)?(?:incisor|premolar|molar|bicuspid)s?",
)
# Products of cattle and pigs that are used in people, and in every laboratory.
_PRODUCTS = (
    r"{keyword}[\s-]+(?:\w+[\s-]+){0,2}(?:serum|albumin|bsa|insulin|heparin|thrombin|trypsin|collagen|gelatin\w*|"
    r"surfactant|pericardi\w+|valves?|xenografts?|grafts?|bone|dermis|matrix|mesh|colostrum|lactoferrin|milk|cartilage|"
    r"aprotinin|factor|fviii|f(?:actor)?\s*viii|recombinant|hemoglobin|haemoglobin|bioprosthe\w+|derived)",
    r"(?:anti|recombinant|purified)[\s-]+(?:\w+[\s-]+)?{keyword}",
)
_PROTOCOL = (
    r"(?:accord\w*|adher\w*|complian\w*|compl(?:y|ied)|conform\w*|deviat\w*|violat\w*|accordance|per|follow\w*|complet\w*|"
    r"approv\w*|amend\w*|defined|specified|described)\s+(?:\w+\s+){0,3}{keyword}",
    r"{keyword}\s+(?:\w+\s+){0,2}(?:approv\w+|adherence|compliance|deviations?|violations?|amend\w+|complied|conformed|"
    r"consist\w+|includ\w+|involv\w+|requir\w+|compris\w+|complet\w+|follow\w+)",
)

_CASE_REPORT = KeywordMeaning(
    FilterRule.CASE_REPORT, Weight.DESIGN, (r"{keyword}[\s:-]+(?:forms?|crfs?|sheets?|records?)\b",)
)

MEANINGS: Mapping[str, KeywordMeaning] = {
    "animal study": KeywordMeaning(FilterRule.ANIMAL, Weight.SUBJECT),
    "animal model": KeywordMeaning(FilterRule.ANIMAL, Weight.SUBJECT),
    "mouse model": KeywordMeaning(FilterRule.ANIMAL, Weight.SUBJECT),
    "rat model": KeywordMeaning(FilterRule.ANIMAL, Weight.SUBJECT),
    "in vivo": KeywordMeaning(FilterRule.ANIMAL, Weight.WEAK_HINT),
    "veterinary": KeywordMeaning(
        FilterRule.ANIMAL,
        Weight.HINT,
        (
            r"{keyword}\s+(?:\w+\s+)?(?:students?|surgeons?|nurses?|technicians?|professionals?|workers?|staff|education)",
        ),
    ),
    "canine": KeywordMeaning(FilterRule.ANIMAL, Weight.HINT, _TEETH),
    "feline": KeywordMeaning(FilterRule.ANIMAL, Weight.HINT),
    "bovine": KeywordMeaning(FilterRule.ANIMAL, Weight.HINT, _PRODUCTS),
    "porcine": KeywordMeaning(FilterRule.ANIMAL, Weight.HINT, _PRODUCTS),
    "in vitro": KeywordMeaning(
        FilterRule.IN_VITRO,
        Weight.SUBJECT,
        (r"{keyword}\s+(?:fertili[sz]\w+|matur\w+|diagnos\w+)", r"{keyword}\s*\(?ivf\b"),
    ),
    "cell culture": KeywordMeaning(FilterRule.IN_VITRO, Weight.SUBJECT),
    "case report": _CASE_REPORT,
    "case reports": _CASE_REPORT,
    "case series": KeywordMeaning(FilterRule.CASE_SERIES, Weight.SERIES),
    "study protocol": KeywordMeaning(FilterRule.PROTOCOL, Weight.PLAN, _PROTOCOL),
    "protocol only": KeywordMeaning(FilterRule.PROTOCOL, Weight.PLAN),
    "editorial": KeywordMeaning(
        FilterRule.OPINION,
        Weight.TYPE,
        (
            r"{keyword}\s+(?:\w+\s+)?(?:boards?|polic(?:y|ies)|offices?|process\w*|decisions?|independence|teams?|review|"
            r"standards?|practices?|bias|leadership|staff|control|content|coverage|committees?|peer|members?|assistance)\b",
            r"(?:newspaper|media|press|journalistic)\s+(?:\w+\s+)?{keyword}",
        ),
    ),
    "letter to editor": KeywordMeaning(FilterRule.OPINION, Weight.TYPE),
    "commentary": KeywordMeaning(
        FilterRule.OPINION,
        Weight.TYPE,
        (
            r"(?:expert|social|running|sports?|audio|live|political|media|online|user|reader)\s+{keyword}",
            r"{keyword}\s+tracks?",
        ),
    ),
    "erratum": KeywordMeaning(FilterRule.CORRECTION, Weight.NOTICE),
    "corrigendum": KeywordMeaning(FilterRule.CORRECTION, Weight.NOTICE),
    "retracted": KeywordMeaning(FilterRule.RETRACTED, Weight.STATUS),
}

ASKED_FOR = KeywordMeaning(FilterRule.KEYWORD, Weight.ASKED_FOR)

_RETRACTED = KeywordMeaning(FilterRule.RETRACTED, Weight.NOTICE)

# The meanings of the definitive title patterns. Other patterns are a caller's own.
TITLE_MEANINGS: Mapping[str, KeywordMeaning] = {
    r"^case report[:\s]": _CASE_REPORT,
    r"^a case of\b": _CASE_REPORT,
    r"\bin rats\b": KeywordMeaning(FilterRule.ANIMAL, Weight.SUBJECT),
    r"\bin mice\b": KeywordMeaning(FilterRule.ANIMAL, Weight.SUBJECT),
    r"^editorial[:\s]": MEANINGS["editorial"],
    r"^commentary[:\s]": MEANINGS["commentary"],
    r"^letters? to the editors?\b": MEANINGS["letter to editor"],
    r"^(?:publisher |author |editorial )?(?:correction|erratum|corrigendum)(?: to)?:": MEANINGS["erratum"],
    r"\bretracted\b$": _RETRACTED,
    r"^(?:retracted(?: article| paper| chapter)?|withdrawn)\s?[:\]]": _RETRACTED,
    r"^(?:retraction|retraction note|retraction notice|notice of retraction)(?: to| of)?:": _RETRACTED,
    r"\[retract(?:ed|ion)\b[^\]]*\]": _RETRACTED,
    OTHER_SPECIES: KeywordMeaning(
        FilterRule.ANIMAL, Weight.SPECIES, (r"\bhuman\b.*{keyword}", r"{keyword}.*\bhuman\b")
    ),
    SINGLE_CASES: _CASE_REPORT,
    REPLIES: MEANINGS["letter to editor"],
}
OWN_PATTERN = KeywordMeaning(FilterRule.TITLE_PATTERN, Weight.ASKED_FOR)

# Readers' names for papers that a rule rejects.
NOUNS: Mapping[FilterRule, str] = {
    FilterRule.ANIMAL: "animal studies",
    FilterRule.IN_VITRO: "in vitro studies",
    FilterRule.CASE_REPORT: "case reports",
    FilterRule.CASE_SERIES: "case series",
    FilterRule.PROTOCOL: "study protocols",
    FilterRule.OPINION: "editorials, commentaries and letters",
    FilterRule.CORRECTION: "corrections",
    FilterRule.RETRACTED: "retracted papers",
}
