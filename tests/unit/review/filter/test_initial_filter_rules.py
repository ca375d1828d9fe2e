"""Each rule of the initial filter: what it rejects, and what it must not."""

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis_review.filter import InitialFilter
from tamis_review.filter.keywords import MOST_MENTIONS
from tamis_review.filter.patterns import (
    DEFAULT_EXCLUSION_KEYWORDS,
    DEFINITIVE_TITLE_PATTERNS,
    HIGH_CONFIDENCE_THRESHOLD,
    MEDIUM_CONFIDENCE_THRESHOLD,
    MIN_ABSTRACT_LENGTH,
    NEGATIVE_CONTEXT_PATTERNS,
)
from tamis_schemas import InvalidParameters, SearchCriteria
from tamis_schemas.answers.filter_result import FilterResult
from tamis_schemas.records.paper import PaperData

LISTS = (DEFINITIVE_TITLE_PATTERNS, NEGATIVE_CONTEXT_PATTERNS, DEFAULT_EXCLUSION_KEYWORDS)


def criteria(**changes: object) -> SearchCriteria:
    fields: dict[str, object] = {"research_question": "Do statins help?", "inclusion_criteria": ["statins"]}
    return SearchCriteria.model_validate(fields | changes)


def filtered(title: str = "T", abstract: str | None = None, **changes: object) -> FilterResult:
    return InitialFilter(criteria(**changes)).filter_paper(PaperData(title=title, abstract=abstract))


@pytest.fixture
def _lists_as_they_were() -> Iterator[None]:
    before = [list(one) for one in LISTS]
    yield
    for one, contents in zip(LISTS, before, strict=True):
        one[:] = contents


@pytest.mark.spec("3.7")
@pytest.mark.parametrize(
    ("title", "rule"),
    [
        # What spec 3 writes.
        ("Case Report: Rare Complication", "case_report"),
        ("A case of severe reaction to statins", "case_report"),
        ("Treatment Effects in Rats", "animal"),
        ("Neuroprotection in Mice", "animal"),
        ("Editorial: Future Directions", "opinion"),
        ("Original Title RETRACTED", "retracted"),
        # In quotes, in the brackets of a translation, with a full stop.
        ('"Case report: a rare complication"', "case_report"),
        ("[Case report: a rare complication].", "case_report"),
        ("Original title: RETRACTED.", "retracted"),
        ("[Neuroprotection in mice]", "animal"),
        ("[Correction of scoliosis in mice]", "animal"),
        # Beyond it.
        ("Commentary: what next?", "opinion"),
        ("Letter to the editor on statins", "opinion"),
        ("RETRACTED ARTICLE: Statins for all", "retracted"),
        ("[Retracted] Statins for all", "retracted"),
        ("Statins for all [retracted in Lancet 2001;1:1]", "retracted"),
        ("Statins for all [retracted article]", "retracted"),
        ("Retraction: Statins for all", "retracted"),
        ("WITHDRAWN: Statins for all", "retracted"),
        ("Publisher Correction: Statins for all", "correction"),
        ("Correction to: Statins for all", "correction"),
        ("Erratum to: A cohort study", "correction"),
        ("Stress in female Wistar rats and their young", "animal"),
        ("Statins in dairy cows", "animal"),
        ("Uptake of statins in the guinea pig cochlea", "animal"),
        ("Statins bind to mouse liver", "animal"),
        ("Psychology of a mouse strain", "animal"),
        ("Acute myopathy in a 17-year-old boy", "case_report"),
        ("Falls in a patient with stroke", "case_report"),
        ("Myopathy under statins: report of two cases", "case_report"),
        ("Statins in a rare case of stroke", "case_report"),
        ("Authors' reply", "opinion"),
        ("Reply to Moor and Hill", "opinion"),
        ("Comments on Hill, Statins 74 (1998) 341", "opinion"),
        ("Letter: statins and falls", "opinion"),
    ],
)
def test_a_definitive_title_rejects_with_high_confidence(title: str, rule: str) -> None:
    result = filtered(title)
    assert (result.passed, result.rule) == (False, rule)
    assert result.confidence > HIGH_CONFIDENCE_THRESHOLD


@pytest.mark.spec("3.7")
@pytest.mark.parametrize(
    ("title", "abstract"),
    [
        ("Statins in mouse and human liver", None),
        ("A human mutation, and its effect in the mouse", None),
        ("Allergies of children in homes with cats", None),
        ("Wheezing in homes with cats", None),
        ("Infections in dairy cows", "Forty participants milked cows."),
        ("Statins, rabbits and hats", None),
        ("An analysis of cases of leprosy", None),
        ("A study of cases with measles", None),
        ("Three decades of cases of malaria", None),
        ("Two hundred cases of retinoblastoma", None),
        ("Report of two thousand cases", None),
        ("Report of three hundred patients with stroke", None),
        ("Report of a national patient survey", None),
        ("Statins in a rare case of stroke", "We enrolled 240 adults."),
        ("Q fever in sheep farmers", None),
        ("Bites in dogs' owners", None),
        ("Injuries in horses and riders", None),
        ("Lung function in the hot dog industry", None),
        ("Comments on social media", None),
        ("Letters: what people wrote", None),
        ("Falls in a patient population", None),
        ("Falls in a child psychiatry clinic", None),
        ("Falls in a patient with stroke: a randomised trial", None),
        ("Report of two trials on statins", None),
        ("A case-control study with controls", None),
        ("Systematic review: a case of too many statins", None),
        ("Response to statins", None),
        ("Replying to letters of patients", None),
        ("Comments on a systematic review [Review]", None),
    ],
)
def test_a_title_that_only_looks_like_an_animal_study_a_case_or_a_reply_passes(
    title: str, abstract: str | None
) -> None:
    assert filtered(title, abstract).passed


@pytest.mark.spec("3.9", "3.11", "3.14")
@pytest.mark.parametrize(
    ("title", "rule"),
    [
        ("An animal study of statins", "animal"),
        ("Statins: three animal studies", "animal"),
        ("A mouse-model of hypertension", "animal"),
        ("A rat model of hypertension", "animal"),
        ("Animal\u2010model of hypertension", "animal"),
        ("Veterinary use of statins", "animal"),
        ("Canine dilated cardiomyopathy", "animal"),
        ("Feline hypertension", "animal"),
        ("Bovine mastitis", "animal"),
        ("Porcine circovirus", "animal"),
        ("In vivo pharmacology of statins in dogs", "animal"),
        ("In-vitro activity of statins", "in_vitro"),
        ("Statins in cell\u00a0culture", "in_vitro"),
        ("Myopathy under statins: a case report", "case_report"),
        ("Myopathy under statins: case reports and discussion", "case_report"),
        ("Myopathy under statins: a case series", "case_series"),
        ("Statins in stroke: study protocol for a randomised trial", "protocol"),
        ("Statins (protocol only)", "protocol"),
        ("Guest editorial", "opinion"),
        ("Statins in stroke [editorial]", "opinion"),
        ("Statins: a critical review and commentary", "opinion"),
        ("Statins: a letter to the editor", "opinion"),
        ('Erratum for "Statins in stroke"', "correction"),
        ('"Statins in stroke": Corrigendum', "correction"),
        ("Statins in stroke (retracted)", "retracted"),
    ],
)
def test_a_keyword_in_the_title_rejects_with_high_confidence(title: str, rule: str) -> None:
    result = filtered(title)
    assert (result.passed, result.rule, result.field) == (False, rule, "title")
    assert result.confidence >= HIGH_CONFIDENCE_THRESHOLD
    assert result.start is not None
    assert title[result.start : result.end] == result.matched


@pytest.mark.spec("3.9")
@pytest.mark.parametrize(
    "title",
    [
        "The Lifelines cohort",  # feline
        "Uneditorialised reporting",
        "Proteinvitrotest",
        # Teeth, products, and other things that the words mean.
        "Impacted maxillary canines",
        "Canine retraction rates",
        "Bovine serum albumin as a standard",
        "Porcine valves after twenty years",
        "In vitro fertilisation outcomes",
        "In-vitro fertilization outcomes",
        "In vivo exposure for spider phobia",
        "In vivo dosimetry",
        "Stress in veterinary students",
        "Risk and resilience in canine search and rescue handlers",
        "Case report forms in trials",
        "Composition of editorial boards",
        "Gender bias in editorial decisions",
        "Social commentary on statins",
        "Adherence to the study protocol",
        "Study protocol deviations in trials",
        "Repair of massively retracted rotator cuff tears",
        "Retraction of the gingiva",
        "Correction of scoliosis",
        # Reviews and studies of such papers are none.
        "A systematic review of case reports",
        "Myopathy under statins: systematic review and case series",
        "Case reports of myopathy: a systematic review",
        "A cohort study and case report",
        # Protected, each by its own context.
        "Unlike in rats, statins fail",
        "Statins without animal models",
        "Beyond the animal model",
        "Statins in rats and humans",
        "Statins in mice and in patients",
        "From patients to an animal model",
        # Notes that a database appended.
        "Statins for all [erratum appears in Lancet 2001 Jan 3;1(2):3]",
        "Statins for all [published erratum appears in Lancet 2001] [see comments]",
        "Statins for all [corrected]",
        "Statins for all [comment in: editorial, Lancet 2001]",
    ],
)
def test_titles_that_only_look_like_it_pass(title: str) -> None:
    result = filtered(title)
    assert result.passed, result


@pytest.mark.spec("3.10", "3.14")
@pytest.mark.parametrize(
    ("abstract", "rule"),
    [
        ("We used an animal model of hypertension.", "animal"),
        ("Statins were given in a mouse model.", "animal"),
        ("Statins were tested in vivo in rats.", "animal"),
        ("Bovine endometrium of dairy cows was sampled.", "animal"),
        ("Statins were tested in vitro.", "in_vitro"),
        ("Statins were tested in cell cultures.", "in_vitro"),
        ("This case report describes a man with myopathy.", "case_report"),
        ("We present a case report of myopathy.", "case_report"),
        ("Case report: A 54-year-old man fell.", "case_report"),
        ("BACKGROUND: Rare. CASE REPORT: A 54-year-old man fell.", "case_report"),
        ("A retrospective case series of 5 patients.", "case_series"),
        ("Design: Retrospective case series.", "case_series"),
        ("This study protocol describes a trial.", "protocol"),
        ("Here we describe the study protocol of a trial.", "protocol"),
        ("This editorial introduces the issue.", "opinion"),
        ("This paper is a commentary on statins.", "opinion"),
        ("This letter to the editor replies.", "opinion"),
        ("This erratum corrects a table.", "correction"),
        ("This article has been retracted.", "retracted"),
    ],
)
def test_an_abstract_that_says_it_of_its_own_paper_rejects_with_medium_confidence(abstract: str, rule: str) -> None:
    result = filtered(abstract=abstract)
    assert (result.passed, result.rule, result.field) == (False, rule, "abstract")
    assert result.confidence == MEDIUM_CONFIDENCE_THRESHOLD
    assert result.start is not None
    assert abstract[result.start : result.end] == result.matched


@pytest.mark.spec("3.8", "3.10")
@pytest.mark.parametrize(
    "abstract",
    [
        # Exclusion statements, over lists and in any form of the word.
        "We excluded case reports.",
        "We excluded reviews, editorials, letters to the editor, animal studies, and in vitro work.",
        "Excluding animal models, forty reports remained.",
        "Exclusion criteria: animal studies, in vitro studies.",
        "Case reports were excluded.",
        "Animal studies, in vitro studies and editorials were also excluded.",
        "In vitro studies were not included.",
        # Comparison, earlier work, limits.
        "Unlike animal models, they talk.",
        "In contrast to animal models, they talk.",
        "Prior animal studies showed an effect.",
        "Previous in vitro experiments showed an effect.",
        "Limitations of animal models are known.",
        "This differs from animal models.",
        "The compound previously showed efficacy in animal models.",
        "Several case reports describe it.",
        "Animal models have shown an effect.",
        "In vitro studies suggest an effect.",
        "Future animal studies are needed.",
        "Animal studies are needed.",
        "Findings are consistent with animal models.",
        "Evidence from animal models is weak.",
        "No animal models were used.",
        "A review of case reports.",
        # People are studied.
        "Animal models helped. We treated forty patients.",
        "Plasma of volunteers was tested in vitro.",
        # It is not said of the paper itself.
        "The study protocol was approved by the committee.",
        "Patients were treated according to the study protocol.",
        "We accessed case reports of chimpanzees.",
        "Data were entered in case report forms.",
        "A cross-sectional, retrospective case series of 411 patients.",
        "He wrote an editorial about it.",
        "Expert commentary: statins help.",
        "[An erratum for this article was reported in Vol 5(1) of the journal.]",
        "Massively retracted tears were repaired.",
        "There was a retracted tendon.",
        "The Lifelines cohort.",
        "In vivo, statins act fast.",
        "Cells were kept in bovine serum albumin.",
        "Impacted canine teeth.",
    ],
)
def test_what_an_abstract_says_of_others_protects(abstract: str) -> None:
    result = filtered(abstract=abstract)
    assert result.passed, result


@pytest.mark.spec("3.8")
@pytest.mark.parametrize(
    ("title", "abstract"),
    [
        ("T", "We excluded case reports. This case report describes a man."),
        ("T", "Unlike animal models, they talk. An animal model was built."),
        ("T", "Prior in vitro work was flawed. Cells were grown in vitro."),
        ("Unlike in rats, statins work in mice", None),
        ("Statins without animal models", "Statins were tested in an animal model."),
    ],
)
def test_one_protected_mention_does_not_protect_another(title: str, abstract: str | None) -> None:
    assert not filtered(title, abstract).passed


@pytest.mark.spec("3.8")
def test_a_context_does_not_reach_beyond_its_sentence_or_a_few_words() -> None:
    assert not filtered(abstract="Prior work exists. Statins were tested in vitro.").passed
    far = "prior to this we had for quite a long time always been thinking about in vitro tests"
    assert not filtered(abstract=far).passed
    assert filtered(abstract="prior and quite small in vitro tests").passed


def test_an_abbreviation_ends_no_sentence() -> None:
    assert filtered(abstract="We excluded other work (e.g. In vitro studies).").passed


@pytest.mark.spec("3.13")
@pytest.mark.parametrize(
    "abstract",
    [
        None,
        "",
        " ",
        "No abstract available",
        "[No abstract available]",
        "N/A",
        "n.a.",
        "-",
        "null",
        "Abstract",
        "Short.",
    ],
)
@pytest.mark.parametrize("title", ["Statins", "S"])
def test_a_missing_short_or_placeholder_abstract_never_rejects(title: str, abstract: str | None) -> None:
    assert filtered(title, abstract).passed


@pytest.mark.spec("3.13")
@pytest.mark.parametrize(
    ("record", "passed"),
    [
        ({"title": "", "abstract": ""}, False),
        ({"title": "  ", "abstract": "N/A"}, False),
        ({}, False),
        ({"abstract": "x" * (MIN_ABSTRACT_LENGTH - 1)}, False),
        ({"abstract": "x" * MIN_ABSTRACT_LENGTH}, True),
        ({"doi": "10.1/x"}, True),
        ({"pmid": "1"}, True),
    ],
)
def test_only_what_nobody_could_screen_has_too_little_content(record: dict[str, object], passed: bool) -> None:
    result = InitialFilter(criteria()).filter_paper(record)
    assert result.passed is passed
    assert (result.rule == "minimum_content") is not passed


@pytest.mark.spec("3.6")
@pytest.mark.parametrize(
    ("record", "passed"),
    [
        ({"year": 2010}, True),
        ({"year": 2024}, True),
        ({"year": 2009}, False),
        ({"year": 2025}, False),
        ({"year": "2009"}, False),
        ({"publication_date": "2009-12-31"}, False),
        ({"publication_date": "31 Dec 2011"}, True),
        ({"year": 2009, "publication_date": "2010-01-02"}, True),  # online before print: one of them is in range
        ({}, True),
        ({"year": "in press"}, True),
        ({"year": 0}, True),
        ({"year": 20090}, True),
        ({"publication_date": "12/09"}, True),
    ],
)
def test_a_known_year_out_of_range_rejects_an_unknown_one_never(record: dict[str, object], passed: bool) -> None:
    result = InitialFilter(criteria(date_range=(2010, 2024))).filter_paper({"title": "T", **record})
    assert result.passed is passed
    if not passed:
        assert result.rule == "date_range"
        assert result.field is not None
        assert str(record[result.field])[result.start : result.end] == result.matched


@pytest.mark.spec("3.6")
def test_without_a_date_range_no_year_rejects() -> None:
    assert InitialFilter(criteria()).filter_paper({"title": "T", "year": 1805}).passed


@pytest.mark.spec("3.12")
@pytest.mark.parametrize(
    ("keyword", "text"),
    [
        ("simulation study", "Two simulation studies of flow"),
        ("simulation studies", "A simulation study of flow"),
        ("simulation-study", "A simulation\u2013study of flow"),
        ("behaviour analysis", "Behavior analyses in schools"),
        ("behavior analysis", "Behaviour analysis in schools"),
        ("randomized", "A randomised design"),
        ("haemodialysis", "Hemodialysis units"),
        ("paediatric tumour", "Pediatric tumors"),
        ("Alzheimer's disease", "Alzheimer\u2019s disease in towns"),
        ("étude animale", "Une ÉTUDE animale"),
        ("Tierversuch", "Ein tierversuch"),
        ("动物实验", "一项动物实验研究"),
        ("r&d (pilot)", "R&D (pilot) in towns"),
    ],
)
def test_a_custom_keyword_rejects_in_all_its_spellings(keyword: str, text: str) -> None:
    for filter_obj in (InitialFilter(criteria(), [keyword]), InitialFilter(criteria(custom_keywords=[keyword]))):
        for record in ({"title": text}, {"title": "T", "abstract": text}):
            result = filter_obj.filter_paper(record)
            assert (result.passed, result.rule) == (False, "keyword")
            assert str(record[str(result.field)])[result.start : result.end] == result.matched


@pytest.mark.parametrize(
    ("keyword", "text"),
    [("art", "Cartel"), ("art", "Heart"), ("été", "répété"), ("ärzt", "Tierärzte"), ("rat", "Ratio"), ("a b", "a  bc")],
)
def test_a_custom_keyword_within_another_word_is_no_match(keyword: str, text: str) -> None:
    assert InitialFilter(criteria(), [keyword]).filter_paper(PaperData(title=text)).passed


def test_a_custom_keyword_needs_no_other_evidence_but_can_be_protected() -> None:
    asked = InitialFilter(criteria(), ["in vivo"])
    assert asked.filter_paper(PaperData(title="In vivo exposure in patients")).rule == "keyword"
    assert asked.filter_paper(PaperData(title="T", abstract="Patients without in vivo exposure.")).passed


@pytest.mark.spec("3.15")
@pytest.mark.usefixtures("_lists_as_they_were")
def test_the_lists_can_be_extended_as_spec_3_shows() -> None:
    DEFINITIVE_TITLE_PATTERNS.append(r"\bsimulation\b")
    NEGATIVE_CONTEXT_PATTERNS.append(r"based on prior {keyword}")
    NEGATIVE_CONTEXT_PATTERNS.append(r"\bso-called {keyword}\b")
    DEFAULT_EXCLUSION_KEYWORDS.append("zebrafish")
    result = filtered("A Simulation of flow")
    assert (result.rule, result.matched) == ("title_pattern", "Simulation")
    assert filtered("Zebrafish").rule == "keyword"
    assert filtered("Based on prior zebrafish").passed
    assert filtered(abstract="So-called zebrafish swim.").passed
    assert not filtered(abstract="So-called, zebrafish swim.").passed


@pytest.mark.spec("3.15")
@pytest.mark.usefixtures("_lists_as_they_were")
def test_the_lists_can_be_shortened() -> None:
    DEFAULT_EXCLUSION_KEYWORDS.remove("in vitro")
    assert filtered("In vitro activity").passed
    for one in LISTS:
        one.clear()
    assert filtered("Case report: in vitro").passed


@pytest.mark.spec("3.15")
@pytest.mark.usefixtures("_lists_as_they_were")
@pytest.mark.parametrize(
    ("which", "added", "said"),
    [
        (0, r"(unclosed", r"DEFINITIVE_TITLE_PATTERNS\[{at}\]: '\(unclosed': missing \)"),
        (0, r"a\b(?<!no )b", r"DEFINITIVE_TITLE_PATTERNS\[{at}\].*at character 4.*no lookaround"),
        (0, r"(a)\1", r"no backreferences"),
        (0, r"x*", r"DEFINITIVE_TITLE_PATTERNS\[{at}\]: 'x\*' matches the empty text"),
        (0, "  ", r"the pattern is empty"),
        (0, 7, r"DEFINITIVE_TITLE_PATTERNS\[{at}\]: a pattern must be a text, not a int"),
        (1, r"based on", r"NEGATIVE_CONTEXT_PATTERNS\[{at}\]: 'based on' has no {{keyword}}"),
        (1, r"[z-a] {keyword}", r"NEGATIVE_CONTEXT_PATTERNS\[{at}\].*invalid character class range"),
        (1, None, r"NEGATIVE_CONTEXT_PATTERNS\[{at}\]: a context must be a text"),
        (2, " - ", r"DEFAULT_EXCLUSION_KEYWORDS\[{at}\]: ' - ' contains no word"),
        (2, r"\bx\b", r"DEFAULT_EXCLUSION_KEYWORDS\[{at}\].*put a pattern in DEFINITIVE_TITLE_PATTERNS"),
        (2, "x" * 301, r"DEFAULT_EXCLUSION_KEYWORDS\[{at}\]: a keyword of 301 characters"),
        (2, "x\ud800", r"an incomplete character, at 2"),
    ],
)
def test_a_rule_that_cannot_be_is_refused_with_its_place_and_what_is_wrong(which: int, added: str, said: str) -> None:
    place = len(LISTS[which])
    LISTS[which].append(added)
    with pytest.raises(InvalidParameters, match=said.format(at=place)):
        InitialFilter(criteria())


def test_a_custom_keyword_that_is_none_is_refused_with_its_place() -> None:
    with pytest.raises(InvalidParameters, match=r"custom_exclusion_keywords\[1\]: '\?' contains no word"):
        InitialFilter(criteria(), ["good", "?"])
    with pytest.raises(InvalidParameters, match="not a text"):
        InitialFilter(criteria(), "simulation")


def test_a_paper_that_is_none_is_refused() -> None:
    with pytest.raises(InvalidParameters, match="not a str"):
        InitialFilter(criteria()).filter_paper("in vitro")  # type: ignore[arg-type]  # on purpose


@pytest.mark.spec("3.2")
def test_records_and_papers_are_the_same_to_the_filter() -> None:
    filter_obj = InitialFilter(criteria())
    record = {"id": "1", "title": "T", "abstract": "Tested in vitro.", "_label": 1}
    assert filter_obj.filter_paper(record) == filter_obj.filter_paper(PaperData.of(record))
    exclusion = filter_obj.exclusion(record)
    assert exclusion is not None
    assert (exclusion.rule, exclusion.matched) == ("in_vitro", "in vitro")
    assert filter_obj.exclusion({"title": "T"}) is None


def test_a_place_is_counted_in_characters() -> None:
    title = "Éclair – étude\u00a0in\u2010vitro"
    result = filtered(title)
    assert (result.matched, result.start, result.end) == ("in\u2010vitro", 15, 23)
    assert title[15:23] == result.matched


@pytest.mark.spec("3.2")
def test_a_callback_hears_of_every_paper_and_of_every_rule_that_is_off() -> None:
    heard: list[tuple[str, str]] = []
    filter_obj = InitialFilter(
        criteria(inclusion_criteria=["case reports"]), callback=lambda kind, message: heard.append((kind, message))
    )
    filter_obj.filter_batch([PaperData(title="Fine", id="a"), PaperData(title="In vitro", id="b")])
    assert [kind for kind, _ in heard] == ["switched_off", "switched_off", "passed", "rejected"]
    assert heard[0][1].startswith("case_report: ")
    assert heard[3][1].startswith("b: 'In vitro' in the title")


@pytest.mark.spec("3.5")
def test_a_batch_tells_its_progress() -> None:
    heard: list[tuple[int, int]] = []
    InitialFilter(criteria()).filter_batch(
        [PaperData(title="T")] * 3, progress_callback=lambda current, total: heard.append((current, total))
    )
    assert heard == [(1, 3), (2, 3), (3, 3)]


TITLES = st.sampled_from(
    ["Statins", "In vitro", "A case report", "Canine teeth", "", "Effects in rats", "In mice and men"]
)


@pytest.mark.spec("3.4")
@given(st.lists(st.tuples(TITLES, st.none() | st.sampled_from(["We excluded case reports.", "Tested in vitro."]))))
def test_a_batch_is_parted_into_passed_and_rejected_in_its_order(pairs: list[tuple[str, str | None]]) -> None:
    papers = [PaperData(id=str(n), title=title, abstract=abstract) for n, (title, abstract) in enumerate(pairs)]
    filter_obj = InitialFilter(criteria())
    batch = filter_obj.filter_batch(papers)
    rejected = [one.paper for one in batch.rejected]
    assert sorted([*batch.passed, *rejected], key=lambda paper: int(paper.id or 0)) == papers
    assert batch.passed == [paper for paper in papers if filter_obj.filter_paper(paper).passed]
    assert rejected == [paper for paper in papers if not filter_obj.filter_paper(paper).passed]
    assert all(one.result == filter_obj.filter_paper(one.paper) for one in batch.rejected)


WORDS = st.lists(
    st.sampled_from(
        ["statins", "éclair", "动物", "in", "vitro", "in vitro", "Case", "report:", "we", "excluded", "rats", "."]
    )
    | st.text(max_size=5),
    max_size=25,
).map(" ".join)
FILTER = InitialFilter(criteria(), ["动物", "éclair"])


@pytest.mark.spec("3.3")
@given(WORDS, WORDS)
def test_the_place_of_a_rejection_holds_what_matched(title: str, abstract: str) -> None:
    paper = PaperData.of({"title": title, "abstract": abstract})
    result = FILTER.filter_paper(paper)
    if result.start is not None:
        assert getattr(paper, str(result.field))[result.start : result.end] == result.matched != ""


PROTECTED = [
    "We excluded case reports.",
    "Unlike animal models, they worked.",
    "Editorials, in vitro studies and letters to the editor were excluded.",
    "Prior in vitro work exists.",
]


@given(WORDS, WORDS, st.lists(st.sampled_from(PROTECTED), min_size=1, max_size=3))
def test_a_protected_mention_never_rejects_what_passed(title: str, abstract: str, added: list[str]) -> None:
    before = FILTER.filter_paper(PaperData.of({"title": title, "abstract": abstract}))
    after = FILTER.filter_paper(PaperData.of({"title": title, "abstract": f"{abstract}\n\n{' '.join(added)}"}))
    assert after.passed is before.passed or before.rule == "minimum_content"


@pytest.mark.spec("3.16")
@pytest.mark.timeout(20)  # a quadratic search would take hours
@pytest.mark.parametrize(
    "unit",
    [
        "in vitr",
        "We excluded case reports. ",
        "excluded case reports and ",
        "prior ",
        "é",
        "in  ",
        "(",
        "éfelineé ",
        "[corrected] ",
    ],
)
def test_a_field_of_a_million_characters_is_read_to_its_end_or_to_the_bound(unit: str) -> None:
    text = unit * (2**20 // len(unit))
    for record in ({"title": "T", "abstract": text}, {"title": text}):
        FILTER.filter_paper(record)
    ended = FILTER.filter_paper({"title": "T", "abstract": f"{'statins ' * 2**17}were tested in vitro."})
    assert ended.matched == "in vitro"


@pytest.mark.spec("3.16")
def test_no_more_than_a_bounded_number_of_mentions_is_weighed() -> None:
    protected = "We excluded case reports. "
    unprotected = "This case report describes a man."
    assert not filtered(abstract=protected * (MOST_MENTIONS - 1) + unprotected).passed
    assert filtered(abstract=protected * MOST_MENTIONS + unprotected).passed


@pytest.mark.spec("3.11")
@pytest.mark.parametrize(
    ("included", "title", "rule"),
    [
        ("animal studies", "Statins in mice", "animal"),
        ("in vitro studies", "Statins in vitro", "in_vitro"),
        ("case reports", "Case report: a fall", "case_report"),
        ("case series", "Falls: a case series", "case_series"),
        ("study protocols", "A study protocol", "protocol"),
        ("editorials", "Editorial: statins", "opinion"),
        ("errata", "Erratum: statins", "correction"),
        ("retracted papers", "RETRACTED: statins", "retracted"),
    ],
)
def test_criteria_that_include_what_a_rule_rejects_switch_it_off_and_say_so(
    included: str, title: str, rule: str
) -> None:
    assert filtered(title).rule == rule
    assert filtered(title, inclusion_criteria=[included]).passed
    assert filtered(title, inclusion_criteria=["adults"], exclusion_criteria=[included]).rule == rule
    reasons = InitialFilter(criteria(inclusion_criteria=[included])).switched_off
    assert included.split()[0] in reasons[rule]


@pytest.mark.spec("3.12")
def test_what_a_caller_asks_for_is_never_switched_off() -> None:
    filter_obj = InitialFilter(criteria(inclusion_criteria=["in vitro studies"]), ["in vitro"])
    assert filter_obj.filter_paper(PaperData(title="Statins in vitro")).rule == "keyword"
