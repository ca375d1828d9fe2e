"""The meaning of each default keyword: its rule, when a mention rejects a paper, and idioms with another meaning."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from tamis_schemas.answers.filter_result import FilterRule


class Weight(StrEnum):
    """The condition under which a mention of a keyword rejects the paper."""

    ASKED_FOR = "asked for"  # a caller's own keyword: any mention rejects
    SUBJECT = "subject"  # rejects if the paper does not mention people, or studies the subject in its own work
    SPECIES = "species"  # rejects in a title without people, unless the abstract studies people
    HINT = "hint"  # as SUBJECT, but in an abstract only if the paper mentions animals or works with them
    WEAK_HINT = "weak hint"  # rejects if the paper mentions no people; in an abstract only if it also mentions animals
    DESIGN = "design"  # rejects in a title without another design, or if the abstract says it of its own paper
    SERIES = "series"  # as DESIGN, unless the paper counts ten patients or more
    TYPE = "type"  # as DESIGN, but a title that begins or ends with the type always rejects
    PLAN = "plan"  # rejects in any title, or if the abstract says it of its own paper
    NOTICE = "notice"  # rejects in any title; in an abstract only after "this", because it may be a note on the paper
    STATUS = "status"  # rejects if title or abstract says it of the paper itself


@dataclass(frozen=True)
class KeywordMeaning:
    """What the filter does with a keyword: its rule, when a mention rejects a paper, and exceptions."""

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
# Products of cattle and pigs that are used in people and in laboratories. Their names say nothing about animals.
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

_FERTILISATION = (r"{keyword}\s+(?:fertili[sz]\w+|matur\w+|diagnos\w+)", r"{keyword}\s*\(?ivf\b")
_VETERINARY = (
    r"{keyword}\s+(?:\w+\s+)?(?:students?|surgeons?|nurses?|technicians?|professionals?|workers?|staff|education)",
)
_EDITORIAL = (
    r"{keyword}\s+(?:\w+\s+)?(?:boards?|polic(?:y|ies)|offices?|process\w*|decisions?|independence|teams?|review|"
    r"standards?|practices?|bias|leadership|staff|control|content|coverage|committees?|peer|members?|assistance)\b",
    r"(?:newspaper|media|press|journalistic)\s+(?:\w+\s+)?{keyword}",
)
_COMMENTARY = (
    r"(?:expert|social|running|sports?|audio|live|political|media|online|user|reader)\s+{keyword}",
    r"{keyword}\s+tracks?",
)
_ANIMAL = KeywordMeaning(FilterRule.ANIMAL, Weight.SUBJECT)

MEANINGS: Mapping[str, KeywordMeaning] = {
    **dict.fromkeys(("animal study", "animal model", "mouse model", "rat model"), _ANIMAL),
    "in vitro": KeywordMeaning(FilterRule.IN_VITRO, Weight.SUBJECT, _FERTILISATION),
    "cell culture": KeywordMeaning(FilterRule.IN_VITRO, Weight.SUBJECT),
    "in vivo": KeywordMeaning(FilterRule.ANIMAL, Weight.WEAK_HINT),
    "veterinary": KeywordMeaning(FilterRule.ANIMAL, Weight.HINT, _VETERINARY),
    "canine": KeywordMeaning(FilterRule.ANIMAL, Weight.HINT, _TEETH),
    "feline": KeywordMeaning(FilterRule.ANIMAL, Weight.HINT),
    **dict.fromkeys(("bovine", "porcine"), KeywordMeaning(FilterRule.ANIMAL, Weight.HINT, _PRODUCTS)),
    "editorial": KeywordMeaning(FilterRule.OPINION, Weight.TYPE, _EDITORIAL),
    "letter to editor": KeywordMeaning(FilterRule.OPINION, Weight.TYPE),
    "commentary": KeywordMeaning(FilterRule.OPINION, Weight.TYPE, _COMMENTARY),
    "protocol only": KeywordMeaning(FilterRule.PROTOCOL, Weight.PLAN),
    "study protocol": KeywordMeaning(FilterRule.PROTOCOL, Weight.PLAN, _PROTOCOL),
    **dict.fromkeys(("erratum", "corrigendum"), KeywordMeaning(FilterRule.CORRECTION, Weight.NOTICE)),
    "retracted": KeywordMeaning(FilterRule.RETRACTED, Weight.STATUS),
    **dict.fromkeys(("case report", "case reports"), _CASE_REPORT),
    "case series": KeywordMeaning(FilterRule.CASE_SERIES, Weight.SERIES),
}

ASKED_FOR = KeywordMeaning(FilterRule.KEYWORD, Weight.ASKED_FOR)

_THEIR_PEOPLE = (
    r"{keyword}(?:'s?)?[\s-]+(?:and\s+(?:their\s+)?|or\s+)?(?:owner\w*|farm\w*|handler\w*|breed\w+|keep\w+|rid(?:ers?|ing)|"
    r"work\w*|industr\w+|phob\w+|train\w+|shelters?|assisted|bites?|allerg\w+)\b"
)
_MEDIA = (r"{keyword}\s+(?:social|online|web\w*|news\w*|youtube|facebook|twitter|reddit)\b",)
_AND_HUMAN = (r"\bhuman\b.*{keyword}", r"{keyword}.*\bhuman\b")
_RETRACTED = KeywordMeaning(FilterRule.RETRACTED, Weight.NOTICE)

# Beyond the specification: "in aged Wistar rats", "in dairy cows", "in the guinea pig", "mouse liver", "rat models".
_WORD = r"(?:[\w/-]+\s+)"
OTHER_SPECIES = (
    rf"\bin\s+(?:{_WORD}{{0,3}}(?:rats|mice|rabbits|piglets|minipigs|swine|monkeys|macaques|marmosets|baboons|"
    r"primates|chimpanzees|hamsters|gerbils|guinea[ -]pigs|ferrets|zebrafish|drosophila|beagles)|"
    rf"{_WORD}?(?:dogs|cats|pigs|cattle|cows|heifers|calves|sheep|lambs|ewes|goats|horses|chickens|broilers)|"
    rf"the\s+{_WORD}{{0,2}}(?:rat|mouse|rabbit|guinea[ -]pig|hamster|gerbil|ferret|monkey|macaque|dog|pig|sheep|goat)"
    rf")\b|\b(?:rat|mouse|murine|rodent|rabbit|hamster|gerbil|guinea[ -]pig|monkey|macaque|primate)\s+{_WORD}?"
    r"(?:models?|strains?|embryos?|brain|hippocampus|amygdala|cortex|cochlea|ear|retina|liver|hepatocytes|heart|kidney|"
    r"muscle|lung|tissues?|mutants?)\b"
)
# "in a 17-year-old boy", "in a patient with measles", "report of two cases", "a rare case of measles".
_CASE_ENDS = r"(?:\s*(?:$|[:.,;)\]])|\s+(?:with|who|of|in|from|and)\b)"
SINGLE_CASES = (
    rf"\bin\s+an?\s+{_WORD}{{0,3}}(?:patient|man|woman|boy|girl|infant|neonate|newborn|child|adolescent|teenager|male|"
    r"female)(?:\s*(?:$|[:.,;)\]])|\s+(?:-|with|who|on|after|following|receiving|treated|taking|due|without|undergoing|"
    r"presenting|having|suffering|using|caused|secondary)\b)|"
    rf"\breports?\s+of\s+(?:(?:an?|one|1)\s+{_WORD}{{0,2}}(?:case|patient)|"
    rf"(?:two|three|four|five|[2-5])\s+{_WORD}{{0,2}}(?:cases|patients)){_CASE_ENDS}|"
    rf"\b(?:an?\s+{_WORD}{{0,2}}case|(?:two|three|four|[2-4])\s+{_WORD}?cases)\s+(?:of|with)\b"
)
REPLIES = (
    r"^(?:in\s+reply\b|repl(?:y|ies)(?:\s*(?:$|[:.,])|\s+(?:to|from|by)\b)|(?:the\s+)?authors?'?s?'?\s+(?:reply|"
    r"response)\b|response\s+to\s+(?:the\s+)?(?:letter|comment)|re\s*:|comments?\s+on\b|letter\s*:)"
)

# The definitive title patterns with their meanings. The patterns of the specification come first.
TITLE_MEANINGS: Mapping[str, KeywordMeaning] = {
    **dict.fromkeys((r"^case report[:\s]", r"^a case of\b"), _CASE_REPORT),
    **dict.fromkeys((r"\bin rats\b", r"\bin mice\b"), _ANIMAL),
    r"^editorial[:\s]": MEANINGS["editorial"],
    r"\bretracted\b$": _RETRACTED,
    r"^commentary[:\s]": MEANINGS["commentary"],
    r"^letters? to the editors?\b": MEANINGS["letter to editor"],
    REPLIES: KeywordMeaning(FilterRule.OPINION, Weight.TYPE, _MEDIA),
    r"^(?:publisher |author |editorial )?(?:correction|erratum|corrigendum)(?: to)?:": MEANINGS["erratum"],
    r"^(?:retracted(?: article| paper| chapter)?|withdrawn)\s?[:\]]": _RETRACTED,
    r"^(?:retraction|retraction note|retraction notice|notice of retraction)(?: to| of)?:": _RETRACTED,
    r"\[retract(?:ed|ion)\b[^\]]*\]": _RETRACTED,
    OTHER_SPECIES: KeywordMeaning(FilterRule.ANIMAL, Weight.SPECIES, (*_AND_HUMAN, _THEIR_PEOPLE)),
    SINGLE_CASES: KeywordMeaning(FilterRule.CASE_REPORT, Weight.SERIES),
}
OWN_PATTERN = KeywordMeaning(FilterRule.TITLE_PATTERN, Weight.ASKED_FOR)

# Names for the papers that a rule rejects, for people.
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
