"""The evidence in a paper: the people and animals that the paper says it studies."""

from functools import cached_property
from itertools import islice

from . import compiled
from .contexts import sentence_ends
from .exclusions import Exclusions

names_people = compiled.finder(
    r"\b(?:patients?|outpatients?|inpatients?|participants?|people|persons?|individuals|subjects?|volunteers?|"
    r"respondents?|humans|human (?:subjects?|participants?|patients?|volunteers?|stud(?:y|ies)|trials?|data|beings?)|"
    r"adults|adolescents?|child|children|infants?|girls?|boys?|women|woman|men|man|mothers?|fathers?|parents?|famil(?:y|ies)|"
    r"couples?|veterans?|soldiers?|survivors?|victims?|refugees?|students?|pupils?|teachers?|nurses?|physicians?|clinicians?|"
    r"surgeons?|workers?|personnel|staff|responders?|handlers?|officers?|police|firefighters?|professionals?|employees?|residents?|caregivers?|carers?|consumers?|users?|citizens?|drivers?|athletes?|"
    r"clinical (?:trials?|stud(?:y|ies)|practice|routine|decision)|phase (?:[1-4]|i{1,3}|iv)|randomi[sz]ed controlled|"
    r"hospitals?|nursing homes?|population-based)\b"
)
names_animals = compiled.finder(
    r"\b(?:animals?|rats?|mice|mouse|murine|rodents?|rabbits?|dogs?|pupp(?:y|ies)|beagles?|cats|kittens?|pigs?|piglets?|"
    r"swine|minipigs?|sows?|boars?|cows?|cattle|calves|heifers?|sheep|lambs?|ewes?|goats?|horses?|equine|ponies|monkeys?|"
    r"macaques?|baboons?|marmosets?|primates?|chimpanzees?|zebrafish|drosophila|hamsters?|guinea[ -]pigs?|ferrets?|"
    r"gerbils?|chickens?|poultry|livestock|veterinarians?|veterinary medicine|breeds?)\b"
)
# Designs of studies other than single cases, opinions and plans.
names_design = compiled.finder(
    r"\b(?:systematic(?:ally)? (?:\w+ )?(?:review\w*|search\w*|map)|meta-?\s?analys[ie]s|"
    r"(?:scoping|umbrella|rapid|narrative) reviews?|"
    r"randomi[sz]ed|cohort|cross-sectional|case-control|survey|longitudinal|registry|register-based|population-based|"
    r"qualitative|prospective (?:study|trial)|observational study|clinical trial|pooled analysis|"
    r"individual patient data|mixed methods)\b"
)
# Notes that PubMed, Ovid and Cochrane append to a title.
_notes_review = compiled.finder(
    r"[\[(]\s*(?:(?:systematic|scoping|umbrella|narrative|literature)\s+)?reviews?(?:\s+articles?|,\s*\w+)?\s*[\])]"
)
_REVIEW = (
    r"(?:(?:systematic|scoping|umbrella|rapid)\s+(?:[\w-]+\s+){0,2}(?:reviews?|search|overview)|"
    r"meta-?\s?analys[ie]s)"
)
_MADE = r"(?:perform|conduct|undert|carr|did|do|present|report|complet|provid|includ)\w*"
# An abstract's statements about its own paper. "Systematic reviews are lacking" is a statement about other papers.
_says_own_review = compiled.finder(
    rf"\b(?:this|the present|the current|our)\s+(?:[\w-]+\s+){{0,2}}{_REVIEW}\b|"
    rf"\b(?:we|authors?|study|paper|article)\s+(?:[\w-]+\s+){{0,3}}{_MADE}\s+(?:[\w-]+\s+){{0,5}}{_REVIEW}\b|"
    rf"\b{_REVIEW}\s+(?:[\w-]+\s+){{0,6}}(?:was|were)\s+(?:\w+\s+)?(?:perform|conduct|undert|carr|done|made)\w*|"
    r"\bwe\s+(?:\w+\s+)?systematically\s+(?:\w+\s+)?(?:review|search)\w*|\bprisma\b"
)

_COUNTED = (
    r"(?:patients?|cases?|subjects?|participants?|individuals|persons|people|adults|adolescents|children|infants|"
    r"neonates|newborns|women|men|girls|boys|females|males|students|veterans|volunteers|survivors|respondents)"
)
# A number of two digits is at least ten; a number of four, without a comma, is probably a year.
_TEN_OR_MORE = (
    r"(?:[1-9]\d{1,2}|[1-9]\d{0,2}(?:,\d{3})+|ten|eleven|twelve|(?:thir|four|fif|six|seven|eigh|nine)teen|"
    r"(?:twen|thir|for|fif|six|seven|eigh|nine)ty(?:[\s-](?:one|two|three|four|five|six|seven|eight|nine))?|"
    r"(?:(?:a|one|two|three|four|five|six|seven|eight|nine)\s+)?(?:hundred|thousand|dozen)(?:\s+(?:and\s+)?[\w-]+)?)"
)
_LARGE_SERIES = compiled.compile_trusted(
    rf"(?:^|[\s(\[=>]){_TEN_OR_MORE}(?:-|\s+(?:[a-z-]+\s+){{0,3}}){_COUNTED}\b|"
    rf"\bn\s*=\s*(?:[1-9]\d{{1,3}}|[1-9]\d{{0,2}}(?:,\d{{3}})+)\b|\bseries\s+of\s+{_TEN_OR_MORE}(?:\s*[.,;:)]|\s*$|\s+(?:in|with|at|from|who)\b)"
)
_NO_COUNT = compiled.compile_trusted(r"\b(?:years?|yrs?|months?|weeks?|days?|hours?|old|aged?|times|sessions?)\b")
_ONE_IN = compiled.compile_trusted(r"\d\s+(?:in|per)\s*$|\bper\s*$")  # "one in 50 patients" counts no patients
_MOST_COUNTS = 100  # most numbers to check in one text

_studies_people = compiled.finder(
    rf"\b(?:\d[\d,]*|one|two|three|four|five|six|seven|eight|nine|{_TEN_OR_MORE})\s+(?:[\w-]+\s+){{0,4}}{_COUNTED}\b|"
    rf"\b{_COUNTED}\s+(?:[\w-]+\s+){{0,4}}(?:were|was|underwent|received|completed|reported|attended|participated)\b|"
    r"\b(?:participants?|volunteers?|respondents?|outpatients?|inpatients?|healthy (?:donors?|controls?|subjects?)|"
    r"questionnaires?|interview\w*|enrol\w+|recruit\w+|informed consent|clinical trials?|phase (?:[1-4]|i{1,3}|iv))\b|"
    rf"\b(?:plasma|blood|serum|sera|samples?|specimens?|biops\w+|tissues?|cells?)\s+(?:[\w-]+\s+){{0,4}}(?:of|from)\s+"
    rf"(?:[\w-]+\s+){{0,4}}(?:{_COUNTED}|donors?|humans?)\b|"
    rf"\b(?:human|patients?|patient-derived)\s+(?:plasma|blood|serum|sera|samples?|specimens?|biops\w+|tissues?)\b"
)


class PaperEvidence:
    """What one paper says about people, animals and its study design. Each part is computed when first needed."""

    def __init__(self, title: bytes, abstract: bytes) -> None:
        self._title = title
        self._abstract = abstract

    @cached_property
    def people_in_title(self) -> bool:
        return names_people(self._title)

    @cached_property
    def people(self) -> bool:
        return self.people_in_title or names_people(self._abstract)

    @cached_property
    def people_studied(self) -> bool:
        """Return True if the abstract counts people, describes their treatment, or names their samples."""
        return _studies_people(self._abstract)

    @cached_property
    def animals(self) -> bool:
        return names_animals(self._title) or names_animals(self._abstract)

    @cached_property
    def design_in_title(self) -> bool:
        return names_design(self._title)

    @cached_property
    def noted_as_review(self) -> bool:
        """Return True if a database's note in the title calls the paper a review."""
        return _notes_review(self._title)

    @cached_property
    def is_review(self) -> bool:
        """Return True if the title or the abstract states that the paper is or contains a systematic review."""
        return self.noted_as_review or _says_own_review(self._abstract)

    @cached_property
    def large_series(self) -> bool:
        """Return True if the title or the abstract counts ten patients or more."""
        return _counts_ten(self._title) or _counts_ten(self._abstract)

    @cached_property
    def exclusions(self) -> Exclusions:
        """Return the abstract's lists of excluded papers."""
        return Exclusions(self._abstract, sentence_ends(self._abstract))


def _counts_ten(text: bytes) -> bool:
    return any(
        _NO_COUNT.search(match.group()) is None
        and _ONE_IN.search(text[max(0, match.start() - 10) : match.start() + 1]) is None
        for match in islice(_LARGE_SERIES.finditer(text), _MOST_COUNTS)
    )
