"""Quotes that say nearly what the record says: altered where a token differs, found where only the writing does."""

import pytest

from tamis_schemas.answers.results import Quote, QuoteState
from tamis_worker.quotes import quote_scope
from tamis_worker.quotes.quotes import QuotedRecord

ABSTRACT = (
    "Of 1,250 non-smoking women aged 18\u201365 years, 118 were randomised to 2.5 mg/kg metformin daily or placebo for "
    "twelve weeks after in-hospital rehabilitation; patients without diabetes were excluded. Haemoglobin did not "
    "improve (mean change \u22120.5 g/dl, p < 0.05), and pain was increased by 12 % in all groups before surgery. "
    "There were no differences between groups. Follow-up of paediatric tumours was incomplete, and he reported CD4+ "
    "counts."
)
RECORD = {"title": "Metformin before surgery: a double-blind trial in women", "abstract": ABSTRACT}


def find(text: str) -> Quote:
    quote = QuotedRecord(RECORD).find(text)
    assert quote is not None
    return quote


@pytest.mark.parametrize(
    ("text", "differences"),
    [
        # numbers: value, decimal point, sign, thousands
        ("118 were randomised to 2.6 mg/kg metformin", [("2.6", "2.5")]),
        ("119 were randomised to 2.5 mg/kg metformin", [("119", "118")]),
        ("118 were randomised to 25 mg/kg metformin", [("25", "2.5")]),
        ("18 were randomised to 2.5 mg/kg metformin", [("18", "118")]),  # the record's own characters, cut
        ("118 were randomised to .25 mg/kg metformin", [(".25", "2.5")]),
        ("did not improve (mean change 0.5 g/dl", [("0.5", "\u22120.5")]),
        ("0.5 g/dl, p < 0.05), and pain", [("0.5", "\u22120.5")]),
        ("-118 were randomised to 2.5 mg/kg", [("-118", "118")]),
        ("Of 1.250 non-smoking women aged", [("1.250", "1,250")]),
        ("placebo for eleven weeks after", [("eleven", "twelve")]),
        # comparators, units and signs
        ("mean change \u22120.5 g/dl, p > 0.05", [(">", "<")]),
        ("mean change \u22120.5 g/dl, p = 0.05", [("", "<")]),
        ("mean change \u22120.5 mg/dl, p < 0.05", [("mg", "g")]),
        ("placebo for twelve months after", [("months", "weeks")]),
        ("pain was increased by 12 in all groups", [("", "%")]),
        ("and he reported CD4- counts", [("", "+")]),
        # negations, dropped and added
        ("Haemoglobin did improve (mean change", [("", "not")]),
        ("There were differences between groups", [("", "no")]),
        ("were differences between groups.", [("", "no")]),  # the quote begins with the word before it
        ("after in-hospital rehabilitation; patients with", [("with", "without")]),  # or with the word behind it
        ("randomised to 2.5 mg/kg metformin daily and", [("", "or")]),
        ("Haemoglobin did ... improve (mean change", [("", "not")]),
        ("patients with diabetes were excluded", [("with", "without")]),
        ("and pain was not increased by 12 %", [("not", "")]),
        ("Of 1,250 smoking women aged", [("", "non")]),
        ("smoking women aged 18\u201365 years", [("", "non")]),
        # words of content, and those that turn the meaning
        ("non-smoking men aged 18\u201365 years", [("men", "women")]),
        ("patients without diabetes were included", [("included", "excluded")]),
        ("and pain was decreased by 12 %", [("decreased", "increased")]),
        ("and pain was increased to 12 %", [("to", "by")]),
        ("metformin daily and placebo for twelve", [("", "or")]),
        ("by 12 % in some groups before surgery", [("some", "all")]),
        ("in all groups after surgery", [("after", "before")]),
        ("paediatric tumours was complete, and she reported", [("complete", "incomplete"), ("she", "he")]),
        ("effective: patients without diabetes were excluded", [("effective", "rehabilitation")]),
    ],
)
def test_a_quote_of_which_a_token_differs_is_altered_and_says_where(
    text: str, differences: list[tuple[str, str]]
) -> None:
    quote = find(text)
    told = [(one.quoted, one.recorded) for one in quote.differences]
    assert (quote.state, quote.found, quote.field) == (QuoteState.ALTERED, False, "abstract")
    assert set(differences) <= set(told), told
    for one in quote.differences:
        assert text[one.start : one.end] == one.quoted


@pytest.mark.parametrize(
    "text",
    [
        "118 WERE RANDOMIZED to 2.5 mg/kg Metformin",  # case, spelling
        "Hemoglobin did not improve (mean change -0.5 g/dl",
        "Follow up of pediatric tumor was incomplete",  # hyphen, singular
        "were ran-\n domised to 2.5 mg/kg metformin",
        "118 were ran\u00addomised to 2.50 mg/kg metformin",
        "daily or placebo for 12 weeks after",
        "Of 1250 non-smoking women aged 18 to 65 years",
        "nonsmoking women aged 18-65 years",
        "after in hospital rehabilitation; patients without",
        "after inhospital rehabili-\ntation",
        "after the in-hos-\n pital rehabilitation",
        "118 were randomised to ... placebo for 12 weeks",
        "non-smoking women aged 18 - 65 years",
        "118 are randomised to the 2.5 mg/kg of metformin",  # function words
        "patients, without diabetes, were excluded.",
        "Hemoglobin didn't improve; mean change \u20130.5 g/dl",
        "p &lt; 0.05), and pain was increased",
        "pain was increased by 12 percent in all groups",
        "There were no di\ufb00erences between groups",
        "2.5 mg per kg metformin daily",
        "double\u2011blind trial of women",
    ],
)
def test_a_quote_that_is_only_written_otherwise_is_found(text: str) -> None:
    quote = find(text)
    assert (quote.state, quote.differences) == (QuoteState.FOUND, ())
    assert 0.6 < quote.similarity <= 1.0


@pytest.mark.parametrize(
    ("omitted", "state"),
    [
        ("not", QuoteState.ALTERED),
        ("by far not always", QuoteState.ALTERED),  # among other words
        ("not always or everywhere or fully", QuoteState.ALTERED),  # six words: little more than a negation
        ("not always or everywhere or very fully", QuoteState.ALTERED),
        ("by far always", QuoteState.FOUND),
    ],
)
def test_an_ellipsis_must_not_leave_out_a_negation(omitted: str, state: QuoteState) -> None:
    quote = QuotedRecord({"abstract": f"The drug was {omitted} effective in adults."}).find(
        "The drug was ... effective in adults"
    )
    assert quote is not None
    assert quote.state is state
    assert [one.recorded for one in quote.differences] == ([omitted] if state is QuoteState.ALTERED else [])


TURNED = "Exercise was preferred to rest. It was influenced by age, and pain fell from 8 to 3 with the new drug. "
TURNED += "Mortality was lower in women than in men. Symptoms improved in adults, but not significantly. "
TURNED += (
    "The authors did not significantly change the diet of children. There was no evidence of serious harm in adults. "
)
TURNED += "Care failed to shorten the stay in hospital. The benefits were seen without changes in blood pressure. "
TURNED += "In older adults with asthma, no child was treated. Sleep with or without a mask was studied in nurses. "
TURNED += (
    "Walking rather than surgery was used. Pain was less with heat vs. ice in nurses. It was not only safe in rats."
)


@pytest.mark.parametrize(
    ("text", "state"),
    [
        ("significantly change the diet of children", QuoteState.ALTERED),  # begins behind a negation
        ("change the diet of children", QuoteState.ALTERED),
        ("serious harm in adults", QuoteState.ALTERED),
        ("to shorten the stay in hospital", QuoteState.ALTERED),
        ("changes in blood pressure", QuoteState.ALTERED),
        ("a mask was studied in nurses", QuoteState.ALTERED),  # nothing says that it was worn
        ("surgery was used", QuoteState.ALTERED),
        ("serious harms in the adults", QuoteState.ALTERED),
        ("a significant change in the diet of children", QuoteState.ALTERED),  # and with other function words
        ("only safe in rats", QuoteState.FOUND),  # "not only" is no negation
        ("did not significantly change the diet", QuoteState.FOUND),
        ("Sleep with or without a mask", QuoteState.FOUND),
        ("The benefits were seen", QuoteState.ALTERED),  # ends before a negation
        ("Symptoms improved in adults", QuoteState.ALTERED),
        ("In older adults with asthma", QuoteState.FOUND),  # the clause ends before it
        ("pain fell to 8 from 3 with the new drug", QuoteState.ALTERED),  # prepositions
        ("pain fell from 8 to 3 from the new drug", QuoteState.ALTERED),
        ("pain fell from 8 to 3 with a new drug", QuoteState.FOUND),
        ("pain fell from 8 to 3 by the new drug", QuoteState.ALTERED),
        ("pain fell of 8 to 3 with the new drug", QuoteState.ALTERED),
        ("for age, and pain fell from 8 to 3", QuoteState.ALTERED),
        ("pain fell from 8 towards 3 with the new drug", QuoteState.FOUND),
        ("It influenced age, and pain fell", QuoteState.ALTERED),  # who acts on whom
        ("It is influenced by the age, and pain fell", QuoteState.FOUND),
        ("They were influenced by age, and pain fell", QuoteState.ALTERED),
        ("Mortality was lower than in women in men", QuoteState.ALTERED),  # comparisons
        ("Mortality was lower in men than in women", QuoteState.ALTERED),
        ("Mortality is lower in the women than in men", QuoteState.FOUND),
        ("the drug. Mortality was lower in women", QuoteState.ALTERED),  # "the new drug"
        ("Exercise was preferred ... lower in women than in men", QuoteState.ALTERED),  # two sentences
        ("Exercise was preferred ... ice in nurses", QuoteState.ALTERED),
        ("Exercise was preferred ... Mortality was lower in women", QuoteState.FOUND),
        ("Mortality was lower ... Sleep with or without a mask", QuoteState.FOUND),  # whole sentences with a "not"
        ("Mortality was lower ... than in men [3, 4].", QuoteState.FOUND),
        ("did not ... change the diet of children", QuoteState.FOUND),
        ("Mortality was lower in women than in men [12]", QuoteState.FOUND),
    ],
)
def test_a_quote_may_not_turn_the_meaning_of_the_words_it_takes(text: str, state: QuoteState) -> None:
    quote = QuotedRecord({"abstract": TURNED}).find(text)
    assert quote is not None
    assert quote.state is state
    assert bool(quote.differences) is (state is QuoteState.ALTERED)


def test_only_the_words_near_a_quote_are_read_where_a_script_has_no_spaces(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    monkeypatch.setattr(quote_scope, "_may_negate", read.append)
    QuotedRecord({"abstract": "\u75c5" * 1_000 + "\u836f\u7269"}).find("\u836f\u7269")
    assert list(map(len, read)) == [quote_scope.REACH]


def test_a_passage_that_nothing_negates_comes_before_a_negated_passage() -> None:
    quote = QuotedRecord({"abstract": "It had no effect on sleep. It had an effect on sleep."}).find("effect on sleep")
    assert quote is not None
    assert (quote.state, quote.start) == (QuoteState.FOUND, 37)


def alterations(abstract: str, text: str) -> list[str]:
    """The words of the abstract that an altered quote changes or omits."""
    quote = QuotedRecord({"abstract": abstract}).find(text)
    assert quote is not None
    assert quote.state is QuoteState.ALTERED
    return [difference.recorded for difference in quote.differences]


@pytest.mark.parametrize("word", ["no", "not", "never", "neither", "nor", "none", "nothing", "without"])
def test_no_negation_may_be_left_out_by_an_ellipsis(word: str) -> None:
    assert alterations(f"The drug was {word} effective in adults.", "The drug was ... effective in adults") == [word]


@pytest.mark.parametrize(
    "word",
    [
        *("no", "not", "never", "neither", "nor", "none", "nothing", "without"),
        *("or", "before", "after", "until", "since", "within", "outside", "between", "under", "over", "above", "below"),
        *("against", "except", "despite", "beyond", "versus"),
    ],
)
def test_a_function_word_must_not_replace_a_word_that_turns_the_meaning(word: str) -> None:
    assert alterations(
        f"Pain fell {word} the treatment of adults with asthma.", "during the treatment of adults with asthma"
    ) == [word]


@pytest.mark.parametrize(
    "phrase",
    [
        *("lack of", "absence of", "devoid of", "lacking", "free of", "instead of", "rather than"),
        *("failed to", "failure to", "unable to", "inability to", "hardly", "didn't", "cannot"),
    ],
)
def test_a_quote_that_begins_behind_a_negating_phrase_is_altered(phrase: str) -> None:
    assert alterations(f"The adults had {phrase} progress after the surgery.", "progress after the surgery") == [phrase]


@pytest.mark.parametrize("prefix", ["non", "un", "anti"])
def test_a_quote_that_begins_behind_a_negating_prefix_is_altered(prefix: str) -> None:
    assert alterations(f"All {prefix}-inflammatory drugs reduced the pain.", "inflammatory drugs reduced the pain") == [
        prefix
    ]


@pytest.mark.parametrize(
    ("text", "record", "state"),
    [
        # one of three words agrees, in letters that are alike
        ("Hypotension was induced in patients", "Hypertension was reduced in patients", QuoteState.NOT_FOUND),
        # two of four
        ("Hypotension was induced in old patients", "Hypertension was reduced in old patients", QuoteState.ALTERED),
    ],
)
def test_a_passage_that_shares_less_than_half_of_the_words_is_another_one(
    text: str, record: str, state: QuoteState
) -> None:
    quote = QuotedRecord({"abstract": f"{record} of the trial."}).find(text)
    assert quote is not None
    assert quote.similarity > 0.85
    assert quote.state is state


@pytest.mark.parametrize(
    ("text", "record"),
    [
        ("men to that", "Amen to that"),
        ("Amen to tha", "Amen to that"),
        ("men to tha", "Amen to that"),
        ("smoking women", "Non-smoking women"),
    ],
)
def test_a_short_quote_does_not_cut_the_first_or_last_word_of_a_record(text: str, record: str) -> None:
    quote = QuotedRecord({"abstract": record}).find(text)
    assert quote is not None
    assert quote.state is QuoteState.NOT_FOUND


def test_a_negation_is_no_part_of_a_longer_word() -> None:
    for said in ("notable to help the women of the trial", "the drug was notable to help the women"):
        quote = QuotedRecord({"abstract": "The drug was not able to help the women of the trial."}).find(said)
        assert quote is not None
        assert (quote.state, [one.quoted for one in quote.differences]) == (QuoteState.ALTERED, ["notable"])


def test_an_altered_quote_has_the_place_of_the_nearest_passage() -> None:
    quote = find("patients with diabetes were included. Hemoglobin")
    assert quote.start is not None
    assert ABSTRACT[quote.start : quote.end] == "patients without diabetes were excluded. Haemoglobin"
    listed = QuotedRecord({"authors": ["Smith J, of the University", "Jones M"]}).find("Smith K, of the University")
    assert listed is not None
    assert (listed.state, listed.field, listed.start) == (QuoteState.ALTERED, "authors", None)
    assert [(one.quoted, one.recorded) for one in listed.differences] == [("K", "J")]


def test_a_word_that_is_left_out_has_its_place_among_the_function_words() -> None:
    quote = find("Haemoglobin did improve (mean change")
    assert [(one.start, one.end) for one in quote.differences] == [(15, 15)]  # behind "did"


def test_a_record_that_says_both_has_the_quote() -> None:
    record = {"abstract": "Pain did not improve in the trial. In the cohort, pain did improve."}
    quote = QuotedRecord(record).find("in the cohort pain did improve")
    assert quote is not None
    assert (quote.state, quote.start) == (QuoteState.FOUND, 35)


@pytest.mark.parametrize(
    ("text", "state"),
    [
        # 120 characters, cut by the endpoint within a word; the same cut within a number; and in a short quote
        (ABSTRACT[ABSTRACT.index("women") : ABSTRACT.index("hospital") + 4], QuoteState.FOUND),
        (ABSTRACT[: ABSTRACT.index("hospital") + 4].upper().replace("TWELVE", "12"), QuoteState.FOUND),
        (ABSTRACT[ABSTRACT.index("patients") : ABSTRACT.index("12 %") + 1], QuoteState.ALTERED),
        (ABSTRACT[ABSTRACT.index("women") : ABSTRACT.index("randomised") + 4], QuoteState.ALTERED),
    ],
)
def test_only_a_long_quote_may_end_within_a_word(text: str, state: QuoteState) -> None:
    assert find(text).state is state


def test_what_is_unlike_every_passage_is_not_found_and_names_none() -> None:
    quote = find("Children with asthma were recruited in four countries")
    assert (quote.state, quote.field, quote.differences) == (QuoteState.NOT_FOUND, None, ())


@pytest.mark.parametrize("text", ["5 mg/kg", "65 mg", "0.5 g/dl", "effective", "smoking women"])
def test_a_short_quote_does_not_begin_within_a_number_or_a_word(text: str) -> None:
    assert find(text).state is QuoteState.NOT_FOUND


def test_function_words_must_agree_where_a_quote_has_little_else() -> None:
    record = QuotedRecord({"abstract": "What was it for, and who had been there with them? It was the treatment."})
    same, other = record.find("and who had been there with them"), record.find("which have been there to them")
    assert same is not None
    assert other is not None
    assert (same.state, other.state) == (QuoteState.FOUND, QuoteState.ALTERED)
