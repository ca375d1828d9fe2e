"""What an abstract says of its own work rejects, whomever else it speaks of; what it says of others' does not."""

import pytest

from tamis_review.filter import InitialFilter
from tamis_review.filter.patterns import DEFAULT_EXCLUSION_KEYWORDS
from tamis_schemas import SearchCriteria
from tamis_schemas.answers.filter_result import FilterResult
from tamis_schemas.records.paper import PaperData

FILTER = InitialFilter(SearchCriteria(research_question="Do statins help?", inclusion_criteria=["statins"]))
HOPE = "This may help patients one day."


def filtered(abstract: str, title: str = "Statins and stroke") -> FilterResult:
    return FILTER.filter_paper(PaperData(title=title, abstract=abstract))


# For each keyword of the default list a sentence about the paper itself, and one about something else.
SENTENCES = {
    "animal study": ("This animal study shows an effect.", "Some animal study shows an effect."),
    "animal model": ("In this animal model, statins helped.", "The animal model has its critics."),
    "mouse model": ("Here, we establish a mouse model of stroke.", "The mouse model of stroke is known."),
    "rat model": ("A rat model of stroke was used.", "The rat model is known."),
    "in vitro": ("Statins were tested in vitro.", "In vitro, statins are stable."),
    "cell culture": ("We exposed and examined neurons in cell culture.", "Neurons die in cell culture."),
    "in vivo": ("We tested statins in vivo in rats.", "In vivo, statins are stable."),
    "veterinary": ("In this veterinary study statins helped.", "Statins came from veterinary suppliers."),
    "canine": ("We used a canine model of stroke.", "Canine distemper is known."),
    "feline": ("Our feline model of stroke is new.", "Feline behaviour is known."),
    "bovine": ("A bovine model was developed.", "We used bovine reagents."),
    "porcine": ("The aim was to assess statins in a porcine model.", "We used porcine heparin."),
    "editorial": ("In this editorial, I ask why.", "The editorial policy was new."),
    "letter to editor": ("This letter to the editor asks why.", "He sent a letter to the editor."),
    "commentary": ("This commentary asks why.", "Each text had a commentary."),
    "protocol only": ("This is a protocol only.", "Some had a protocol only."),
    "study protocol": ("This study protocol describes a trial.", "The study protocol was approved."),
    "erratum": ("This erratum corrects a table.", "An erratum followed."),
    "corrigendum": ("This corrigendum corrects a table.", "A corrigendum followed."),
    "retracted": ("This article has been retracted.", "The tendon was retracted."),
    "case report": ("We present a case report of myopathy.", "A case report started the debate."),
    "case reports": ("Two case reports are presented.", "The case reports started the debate."),
    "case series": ("We describe a case series of myopathy.", "A case series started the debate."),
}


@pytest.mark.parametrize(
    ("abstract", "passed"),
    [
        ("Effects in a rat model are described here for the first time.", False),
        ("A rat model of stroke is presented here.", True),  # others' work is presented, too
        ("A rat model is described in textbooks.", True),
    ],
)
def test_what_is_described_here_is_own_work(abstract: str, passed: bool) -> None:
    assert filtered(f"{HOPE} {abstract} {HOPE}").passed is passed


@pytest.mark.spec("3.10")
@pytest.mark.parametrize(
    ("title", "abstract", "passed"),
    [
        ("Effects of statins in vivo", "Statins were given.", False),
        ("Effects of statins in vivo", "Patients took statins.", True),
        ("In vivo imaging of stroke", "Statins were given.", True),  # as in people
        ("In vivo imaging of stroke", "Statins were given to rats.", False),
        ("Unlike statins in vivo, aspirin helps", "Aspirin was given.", True),
    ],
)
def test_in_vivo_in_a_title_rejects_where_the_paper_names_no_people(title: str, abstract: str, passed: bool) -> None:
    assert filtered(abstract, title).passed is passed


def test_every_keyword_of_the_default_list_is_in_the_table() -> None:
    assert list(SENTENCES) == DEFAULT_EXCLUSION_KEYWORDS


@pytest.mark.spec("3.10")
@pytest.mark.parametrize("keyword", SENTENCES)
def test_a_default_keyword_rejects_in_a_sentence_about_the_paper_itself(keyword: str) -> None:
    own, other = SENTENCES[keyword]
    assert not filtered(f"{HOPE} {own} {HOPE}").passed
    assert filtered(f"{HOPE} {other} {HOPE}").passed


@pytest.mark.parametrize(
    "abstract",
    [
        "We present an interesting case report.",
        "Here we report two case reports.",
        "A case report of a rare myopathy is presented.",
        "Our rat model is new.",
        "The present animal model is new.",
        "Neurons were grown and incubated in cell cultures.",
        "The purpose of the study was to determine the effect of statins in an animal model.",
        "We compared statins, fibrates, and nothing, in a mouse model.",
        "In vitro experiments were performed.",
        "Canine trials were conducted.",
    ],
)
def test_it_is_said_of_the_papers_own_work_in_many_ways(abstract: str) -> None:
    assert not filtered(f"{abstract} {HOPE}").passed


@pytest.mark.spec("3.10")
@pytest.mark.parametrize(
    "abstract",
    [
        # The sentence tells of others, or of a review.
        "This review discusses animal models of stroke.",
        "This suggests animal models of stroke.",
        "Here we review the use of animal models and describe in vitro tests.",
        "We used what previous in vitro work had shown.",
        "We examined why statins fail; in vitro studies have shown an effect.",
        # People are studied besides.
        "Statins were tested in vitro. Then 24 patients were treated.",
        "Statins were tested in vitro. Patients with stroke received them.",
        "Statins were tested in vitro in the plasma of patients.",
        "Statins were tested in vitro. Blood samples from healthy women served as controls.",
        "Statins were tested in vitro. Volunteers took them.",
        "We used an animal model and a clinical trial.",
        "We used an animal model, and informed consent was given.",
        "We compared children with an animal model.",
        # A reagent is no kind of work.
        "We used canine kidney cells.",
        "We used a bovine chromogenic assay.",
        "We tested statins in vivo.",
    ],
)
def test_what_is_said_of_others_or_beside_people_does_not_reject(abstract: str) -> None:
    result = filtered(f"{abstract} {HOPE}")
    assert result.passed, result


@pytest.mark.parametrize("title", ["Statins in women", "A cohort study of statins", "Statins: a randomised comparison"])
def test_a_title_that_names_people_or_a_design_protects(title: str) -> None:
    assert filtered(f"In this animal model, statins helped. {HOPE}", title).passed


@pytest.mark.timeout(20)  # a quadratic search would take hours
@pytest.mark.parametrize("unit", ["we use a, ", "was tested ", "10 "])
def test_an_abstract_of_a_million_characters_is_read_to_its_end(unit: str) -> None:
    assert filtered(f"{HOPE} {unit * (2**20 // len(unit))}. Statins were tested in vitro.").matched == "in vitro"
