"""Journals: when two names are one journal."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis_review.intake.journals import Journal, journal_of


def named(name: str, issn: str = "") -> Journal:
    return journal_of([name], [issn])


def same(one: Journal, other: Journal) -> bool | None:
    """Whether the two are one journal; the order does not matter."""
    assert one.same(other) is other.same(one)
    return one.same(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("N Engl J Med", "The New England Journal of Medicine"),
        ("N. Engl. J. Med.", "NEW ENGLAND JOURNAL OF MEDICINE"),
        ("J Natl Cancer Inst", "Journal of the National Cancer Institute"),
        ("Dtsch Arztebl Int", "Deutsches Ärzteblatt international"),
        ("Z Gerontol Geriatr", "Zeitschrift für Gerontologie und Geriatrie"),
        ("BMJ", "British Medical Journal"),
        ("JAMA", "JAMA : the journal of the American Medical Association"),
        ("Lancet", "The Lancet (London, England)"),
        ("PNAS", "Proceedings of the National Academy of Sciences"),
        ("Ear Hear", "Ear and hearing. 40(4) (pp 918-926), 2019. Date of Publication: 01 Jul 2019."),
        ("J Speech Lang Hear Res", "Journal of Speech, Language & Hearing Research"),
        ("Otolaryngol Head Neck Surg", "Otolaryngology-Head and Neck Surgery"),
        ("Eur Arch Otorhinolaryngol", "European Archives of Oto-Rhino-Laryngology"),
        ("Acta Otolaryngol", "Acta Oto-Laryngologica, Supplement"),
        ("J Assoc Res Otolaryngol", "JARO - Journal of the Association for Research in Otolaryngology"),
        ("Environ Sci Pollut Res Int", "Environmental Science and Pollution Research"),
        ("Rev Panam Salud Publica", "Revista panamericana de salud pública = Pan American journal of public health"),
        ("Brain", "Brain: A Journal of Neurology"),
        ("Hokkaido Igaku Zasshi", "[Hokkaido igaku zasshi] The Hokkaido journal of medical science"),
        ("JWHA. Journal of walking and hearing aids", "Jwha: Journal of Walking & Hearing Aids"),
        ("International Journal of Walking", "International journal of walking. Journal international de la marche"),
        ("J Int Marche", "International journal of walking. Journal international de la marche"),
        ("Chinese Journal of Walking", "Chung-Hua Pu Hsing Tsa Chih [Chinese Journal of Walking]"),
        ("Rest Supplements", "Rest"),
    ],
)
def test_an_abbreviation_is_the_journal(one: str, other: str) -> None:
    assert same(named(one), named(other)) is True


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Brain Res", "Brain Reviews"),
        ("J Clin Oncol", "Journal of Clinical Orthopaedics"),
        ("Circulation", "Circulation: Heart Failure"),
        ("JAMA", "JAMA Otolaryngology"),
        ("Journal of Hearing", "Journal of Hearing Science"),
        ("bioRxiv", "Frontiers in Cellular Neuroscience"),
        ("BMJ", "Annals of Internal Medicine"),
        ("Annual Congress on Walking", "Journal of Walking"),
        ("Ann. Intern. Rest", "Internal Rest"),  # abbreviated words, not two names
        ("Waha: Hearing Aids", "Hearing Aids"),  # no acronym
        ("J Med Walk [electronic resource]", "J Sad Rest [electronic resource]"),
        ("Zhonghua bu xing za zhi", "Zhonghua xiu xi za zhi"),
        ("Zhonghua bu xing za zhi = Chinese Journal of Walking", "Chinese Journal of Rest"),
        ("Hawaii Medical Journal", "Journal of Walking"),
    ],
)
def test_another_name_is_another_journal(one: str, other: str) -> None:
    assert same(named(one), named(other)) is False


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("", "Brain"),
        ("2023", "Brain"),
        ("Conference proceedings", "Proceedings of the Walking Society"),
        ("中华医学杂志", "Chinese Medical Journal"),
        ("Zhonghua bu xing za zhi", "Chinese Journal of Walking"),
        ("Zhonghua bu xing za zhi", "Chung-Hua Pu Hsing Tsa Chih"),
        ("Nihon Hoko Gakkai Zasshi", "Journal of the Japanese Walking Society"),
        ("Voprosy khod'by", "Problems of Walking"),
        ("Progulochnaia khirurgiia", "Progulochnaya Khirurgiya"),
        ("2022 6th International Conference on Walking", "Proceedings - 6th Conference on Walking and Rest, WR 2022"),
    ],
)
def test_of_some_names_nobody_can_tell(one: str, other: str) -> None:
    assert same(named(one), named(other)) is None


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("1234-5678", "12345678", True),
        ("1234-567X (Print)", "1234567x", True),
        ("1234-5678", "8765-4321", False),  # print and electronic differ: then the names decide
        ("978-1-4799-0652-9", "978-1-4799-0652-9", False),  # a book's
    ],
)
def test_one_issn_is_one_journal_whatever_its_name(one: str, other: str, expected: bool) -> None:
    assert same(named("Journal of Walking", one), named("Zeitschrift zum Vergleich", other)) is expected
    assert same(named("Journal of Walking", one), named("J Walking", other)) is True


NAMES = st.text(alphabet="aBcJ .:=-/([é京1\u2013", max_size=30)


@settings(max_examples=60)
@given(NAMES, NAMES)
def test_any_two_names_are_compared_in_either_order(one: str, other: str) -> None:
    same(named(one), named(other))
    assert same(named(one), named(one)) in (True, None)
