"""Evidence: whom and what a paper studies, by its own words."""

from functools import cached_property

from . import compiled

_PEOPLE = compiled.own(
    r"\b(?:patients?|outpatients?|inpatients?|participants?|people|persons?|individuals|subjects?|volunteers?|"
    r"respondents?|humans|human (?:subjects?|participants?|patients?|volunteers?|stud(?:y|ies)|trials?|data|beings?)|"
    r"adults|adolescents?|child|children|infants?|girls?|boys?|women|woman|men|man|mothers?|fathers?|parents?|famil(?:y|ies)|"
    r"couples?|veterans?|soldiers?|survivors?|victims?|refugees?|students?|pupils?|teachers?|nurses?|physicians?|clinicians?|"
    r"surgeons?|workers?|personnel|staff|responders?|handlers?|officers?|police|firefighters?|professionals?|employees?|residents?|caregivers?|carers?|consumers?|users?|citizens?|drivers?|athletes?|"
    r"clinical (?:trials?|stud(?:y|ies)|practice|routine|decision)|phase (?:[1-4]|i{1,3}|iv)|randomi[sz]ed controlled|"
    r"hospitals?|nursing homes?|population-based)\b"
)
_ANIMALS = compiled.own(
    r"\b(?:animals?|rats?|mice|mouse|murine|rodents?|rabbits?|dogs?|pupp(?:y|ies)|beagles?|cats|kittens?|pigs?|piglets?|"
    r"swine|minipigs?|sows?|boars?|cows?|cattle|calves|heifers?|sheep|lambs?|ewes?|goats?|horses?|equine|ponies|monkeys?|"
    r"macaques?|baboons?|marmosets?|primates?|chimpanzees?|zebrafish|drosophila|hamsters?|guinea[ -]pigs?|ferrets?|"
    r"gerbils?|chickens?|poultry|livestock|veterinarians?|veterinary medicine|breeds?)\b"
)
_DESIGNS = compiled.own(
    r"\b(?:systematic(?:ally)? (?:\w+ )?(?:review\w*|search\w*|map)|meta-?\s?analys[ie]s|"
    r"(?:scoping|umbrella|rapid|narrative) reviews?|"
    r"randomi[sz]ed|cohort|cross-sectional|case-control|survey|longitudinal|registry|register-based|population-based|"
    r"qualitative|prospective (?:study|trial)|observational study|clinical trial|pooled analysis|"
    r"individual patient data|mixed methods)\b"
)


class Evidence:
    """What one paper says, looked up when a rule asks."""

    def __init__(self, title: bytes, abstract: bytes) -> None:
        self._title = title
        self._abstract = abstract

    @cached_property
    def people_in_title(self) -> bool:
        return _PEOPLE.search(self._title) is not None

    @cached_property
    def people(self) -> bool:
        return self.people_in_title or _PEOPLE.search(self._abstract) is not None

    @cached_property
    def animals(self) -> bool:
        return _ANIMALS.search(self._title) is not None or _ANIMALS.search(self._abstract) is not None

    @cached_property
    def design_in_title(self) -> bool:
        return names_design(self._title)


def names_design(text: bytes) -> bool:
    """Whether the text names a design of studies other than single cases, opinions and plans."""
    return _DESIGNS.search(text) is not None
