"""Changed quotes from real abstracts: some change the meaning, others only the spelling or form.

The lists of words are the benchmark's own. The measured code does not use them.
"""

import random
import re
from collections.abc import Callable
from dataclasses import dataclass

Mutation = Callable[[random.Random, str, str], str | None]  # a quote and a text of foreign words; None: not this quote

# A quote that begins just behind or ends just before such words, in the same clause, turns the meaning.
NEGATED = r"(?i:\b(?:not(?! only)|no(?!\.)|without|never|lack of|failed to))(?= \w)"
BEHIND = re.compile(rf"{NEGATED} ")
BEFORE = re.compile(rf" (?={NEGATED})(?<=[\w%)] )")
# So do these words, with up to two between. Without this, one harmless quote in 250 would say something else.
NEARLY = re.compile(
    r"(?i:\b(?:not|no|none|neither|nor|without|never|cannot|lack\w*|absence|instead|rather than|fail\w*)"
    r"(?: [\w-]+){0,3} \Z)"
)
_SENTENCE_END = re.compile(r"(?<=[a-z)\d][a-z)\d][.?!]) (?=[A-Z])")

LENGTHS = ((20, 39), (40, 69), (70, 99), (100, 120))  # characters

_NUMBER = re.compile(r"(?<![\w.,-])\d+(?:\.\d+)?(?![\w.,]\d)")
_WORD = re.compile(r"(?<![\w-])[a-z]{5,}(?![\w-])")
_ANY_WORD = re.compile(r"(?<![\w-])[A-Za-z]{7,}(?![\w-])")
_NEGATION = re.compile(r" ?\b(?:not|no|never|without|neither|nor)\b")
_AUXILIARY = re.compile(r"\b(?:was|were|is|are|did|has|have|can|could|may|should)\b")
_COMMON = frozenset(
    (
        *("about", "above", "after", "among", "being", "their", "there", "these", "those", "which", "while", "within"),
        *("between", "through", "during", "having", "towards", "amongst", "whose"),
    )
)

SEX = (("men", "women"), ("man", "woman"), ("male", "female"), ("males", "females"), ("boys", "girls"), ("he", "she"))
DECISION = (("included", "excluded"), ("inclusion", "exclusion"), ("eligible", "ineligible"), ("include", "exclude"))
DIRECTION = (
    *(("increased", "decreased"), ("increase", "decrease"), ("higher", "lower"), ("more", "less"), ("high", "low")),
    *(("greater", "smaller"), ("improved", "worsened"), ("positive", "negative"), ("better", "worse")),
)
TIME = (("before", "after"), ("with", "without"), ("pre", "post"), ("early", "late"), ("under", "over"))
AMOUNT = (("all", "some"), ("most", "few"), ("and", "or"), ("both", "neither"), ("always", "never"))
PREFIX = (
    *(("effective", "ineffective"), ("significant", "non-significant"), ("significant", "insignificant")),
    *(("related", "unrelated"), ("controlled", "uncontrolled"), ("likely", "unlikely"), ("able", "unable")),
)
UNITS = (
    *(("mg", "g"), ("mg", "\u03bcg"), ("kg", "g"), ("ml", "l"), ("weeks", "months"), ("months", "years")),
    *(("days", "weeks"), ("hours", "days"), ("minutes", "hours"), ("%", " mg"), ("years", "months"), ("week", "month")),
)
BRITISH = (
    *(("randomized", "randomised"), ("behavior", "behaviour"), ("hospitalized", "hospitalised"), ("tumor", "tumour")),
    *(("center", "centre"), ("pediatric", "paediatric"), ("hemoglobin", "haemoglobin"), ("analyzed", "analysed")),
    *(("program", "programme"), ("labeled", "labelled"), ("anemia", "anaemia"), ("edema", "oedema")),
    *(("leukemia", "leukaemia"), ("ischemic", "ischaemic"), ("randomization", "randomisation"), ("color", "colour")),
    *(("characterized", "characterised"), ("utilized", "utilised"), ("summarized", "summarised"), ("aging", "ageing")),
    *(("recognized", "recognised"), ("orthopedic", "orthopaedic"), ("estrogen", "oestrogen"), ("fetal", "foetal")),
    *(("generalized", "generalised"), ("anesthesia", "anaesthesia"), ("diarrhea", "diarrhoea"), ("fiber", "fibre")),
)
NUMERALS = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
)
FUNCTION = (
    *(("the ", ""), ("a ", ""), ("of the ", "of "), ("was ", "is "), ("were ", "are "), ("in ", "at "), ("on ", "in ")),
    *((" that ", " which "), ("has been ", "was "), ("is ", ""), ("for ", "of "), ("the ", "a "), ("these ", "the ")),
)


PREPOSITIONS = (
    *(("from", "to"), ("with", "from"), ("by", "from"), ("by", "to"), ("by", "in"), ("with", "to"), ("for", "from")),
    *(("in", "to"), ("of", "to"), ("of", "by"), ("of", "from"), ("of", "with"), ("in", "with"), ("for", "with")),
)
PRONOUNS = (("they", "we"), ("it", "they"), ("it", "we"), ("their", "our"), ("its", "their"), ("its", "our"))
OMITTED = 90  # characters that the quotes with a longer omission are longer than the others, at first


@dataclass(frozen=True)
class Kind:
    """A change. `behind` and `before`: after what the quoted words begin, or before what they end."""

    name: str
    mutate: Mutation
    behind: re.Pattern[str] | None = None
    before: re.Pattern[str] | None = None
    longer: int = 0  # characters that `mutate` gets in addition, because it omits some


def _digit(draw: random.Random, quote: str, foreign: str) -> str | None:
    numbers = list(_NUMBER.finditer(quote))
    if not numbers:
        return None
    number = draw.choice(numbers)
    places = [n for n in range(*number.span()) if quote[n].isdigit()]
    place = draw.choice(places)
    other = draw.choice([d for d in "0123456789" if d != quote[place] and (d != "0" or place > number.start())])
    return quote[:place] + other + quote[place + 1 :]


def _number(draw: random.Random, quote: str, foreign: str) -> str | None:
    numbers = list(_NUMBER.finditer(quote))
    if not numbers:
        return None
    number = draw.choice(numbers)
    other = str(draw.randint(2, 400))
    if float(other) == float(number[0]):
        return None
    return quote[: number.start()] + other + quote[number.end() :]


def _decimal_point(draw: random.Random, quote: str, foreign: str) -> str | None:
    numbers = [one for one in _NUMBER.finditer(quote) if "." in one[0]]
    if not numbers:
        return None
    number = draw.choice(numbers)
    whole, fraction = number[0].split(".")
    moved = draw.choice([whole + fraction, f"{whole}{fraction[0]}.{fraction[1:]}".rstrip("."), f"0.{whole}{fraction}"])
    if float(moved) == float(number[0]):
        return None
    return quote[: number.start()] + moved + quote[number.end() :]


def _comparator(draw: random.Random, quote: str, foreign: str) -> str | None:
    signs = list(re.finditer(r"[<>\u2264\u2265=](?= ?[\d.])", quote))
    if not signs:
        return None
    sign = draw.choice(signs)
    other = {"<": ">", ">": "<", "\u2264": "\u2265", "\u2265": "\u2264", "=": draw.choice("<>")}[sign[0]]
    return quote[: sign.start()] + other + quote[sign.end() :]


def _sign(draw: random.Random, quote: str, foreign: str) -> str | None:
    minus = list(re.finditer(r"(?<=[ =(])[-\u2212](?=\d)", quote))
    if minus:
        one = draw.choice(minus)
        return quote[: one.start()] + quote[one.end() :]
    numbers = list(re.finditer(r"(?<=[=(] )\d|(?<=[=(])\d", quote))
    if not numbers:
        return None
    one = draw.choice(numbers)
    return f"{quote[: one.start()]}-{quote[one.start() :]}"


def _negation_dropped(draw: random.Random, quote: str, foreign: str) -> str | None:
    negations = list(_NEGATION.finditer(quote))
    if not negations:
        return None
    one = draw.choice(negations)
    return (quote[: one.start()] + quote[one.end() :]).strip()


def _negation_added(draw: random.Random, quote: str, foreign: str) -> str | None:
    verbs = [one for one in _AUXILIARY.finditer(quote) if not re.match(r" (?:not|no|never)\b", quote[one.end() :])]
    if not verbs:
        return None
    one = draw.choice(verbs)
    return f"{quote[: one.end()]} {draw.choice(('not', 'never'))}{quote[one.end() :]}"


def _pairs(pairs: tuple[tuple[str, str], ...], *, after_number: bool = False) -> Mutation:
    other = [*pairs, *((b, a) for a, b in pairs)]

    def mutate(draw: random.Random, quote: str, foreign: str) -> str | None:
        fitting = [
            (found, new)
            for old, new in other
            for found in re.finditer(
                (r"(?<=\d)" if old == "%" else r"(?<=\d )" if after_number else r"(?<![\w-])")
                + re.escape(old.strip())
                + (r"(?!\w)" if old == "%" else r"(?![\w-])"),
                quote,
            )
            if old.strip()
        ]
        if not fitting:
            return None
        found, new = draw.choice(fitting)
        return quote[: found.start()] + new + quote[found.end() :]

    return mutate


def _foreign_word(draw: random.Random, quote: str, foreign: str) -> str | None:
    words = [one for one in _WORD.finditer(quote) if one[0] not in _COMMON]
    others: list[str] = [one for one in _WORD.findall(foreign) if one not in _COMMON and one[:4] not in quote.lower()]
    if not words or not others:
        return None
    word = draw.choice(words)
    return quote[: word.start()] + draw.choice(others) + quote[word.end() :]


def _words_swapped(draw: random.Random, quote: str, foreign: str) -> str | None:
    words = [one for one in _WORD.finditer(quote) if one[0] not in _COMMON]
    if len(words) < 2:
        return None
    one, two = sorted(draw.sample(words, 2), key=re.Match.start)
    if one[0][:4] == two[0][:4]:
        return None
    return quote[: one.start()] + two[0] + quote[one.end() : two.start()] + one[0] + quote[two.end() :]


def _word_added(draw: random.Random, quote: str, foreign: str) -> str | None:
    gaps = [one.start() for one in re.finditer(r"(?<=[a-z]) (?=[a-z])", quote)]
    others = [one for one in _WORD.findall(foreign) if one not in _COMMON and one[:4] not in quote.lower()]
    if not gaps or not others:
        return None
    gap = draw.choice(gaps)
    return f"{quote[:gap]} {draw.choice(others)}{quote[gap:]}"


def _word_dropped(draw: random.Random, quote: str, foreign: str) -> str | None:
    words = [one for one in re.finditer(r"(?<=[a-z] )[a-z]{5,} (?=[a-z])", quote) if one[0].strip() not in _COMMON]
    if not words:
        return None
    one = draw.choice(words)
    return quote[: one.start()] + quote[one.end() :]


def _omitting_negation(draw: random.Random, quote: str, foreign: str) -> str | None:
    negations = list(re.finditer(r"(?<=\w )(?:not|no|never|without)(?= \w)", quote))
    if not negations:
        return None
    one = draw.choice(negations)
    return f"{quote[: one.start()]}...{quote[one.end() :]}"


def _passive(draw: random.Random, quote: str, foreign: str) -> str | None:
    made = re.sub(r"\b(?:was|were|is|are|been) (\w+ed) by (?=[a-zA-Z])", r"\1 ", quote, count=1)
    return None if made == quote else made


def _active(draw: random.Random, quote: str, foreign: str) -> str | None:
    made = re.sub(r"(?<=[a-z] )(\w{4,}ed) (?=(?:the|a|an|both|all|their|its) )", r"was \1 by ", quote, count=1)
    return None if made == quote or re.search(r"\b(?:was|were|is|are|be|been|has|have|had) was ", made) else made


def _than_moved(draw: random.Random, quote: str, foreign: str) -> str | None:
    """Turn "higher in A than in B" to "higher than in A in B", and "A than B" to "B than A"."""
    if moved := re.search(
        r"((?:er|more|less|worse|better)) ((?:(?:in|for|with|on|at) )?(?!than)[\w-]+) than (?=\w)", quote
    ):
        return f"{quote[: moved.start()]}{moved[1]} than {moved[2]} {quote[moved.end() :]}"
    if sides := re.search(r"([\w-]{5,})((?: \w+){1,3} than (?:the |in |with |for )?)([\w-]{5,})", quote):
        if sides[1].lower().rstrip("s") == sides[3].lower().rstrip("s"):
            return None
        return f"{quote[: sides.start()]}{sides[3]}{sides[2]}{sides[1]}{quote[sides.end() :]}"
    return None


def _spliced(draw: random.Random, quote: str, foreign: str) -> str | None:
    """Join the beginning of one sentence with the end of another."""
    ends = [place.start() for place in _SENTENCE_END.finditer(quote)]
    if not ends:
        return None
    starts = [place.end() for place in re.finditer(r" ", quote)]
    heads = [start for start in starts if 12 < start < min(ends)]
    tails = [start for start in starts if max(ends) + 1 < start < len(quote) - 12 and quote[start].islower()]
    if not heads or not tails:
        return None
    return f"{quote[: draw.choice(heads)]}... {quote[draw.choice(tails) :]}"


def _long_omission(draw: random.Random, quote: str, foreign: str) -> str | None:
    """Omit a negation with more than six other words, within a sentence."""
    negations = [place for place in re.finditer(NEGATED, quote) if quote[: place.start()].count(" ") > 2]
    if not negations:
        return None
    words, first = quote.split(" "), draw.choice(negations)
    place = quote[: first.start()].count(" ")
    start, end = draw.randint(max(2, place - 5), place), draw.randint(place + 4, place + 9)
    omitted = words[start:end]
    if len(omitted) < 7 or end > len(words) - 2 or _SENTENCE_END.search(" ".join(words[start - 1 : end + 1])):
        return None
    return " ".join([*words[:start], "...", *words[end:]])


def _verbatim(draw: random.Random, quote: str, foreign: str) -> str | None:
    return quote


FLIPS = (
    Kind("changed digit", _digit),
    Kind("changed number", _number),
    Kind("decimal point moved", _decimal_point),
    Kind("comparator turned", _comparator),
    Kind("sign dropped or added", _sign),
    Kind("unit changed", _pairs(UNITS, after_number=True)),
    Kind("negation dropped", _negation_dropped),
    Kind("negation added", _negation_added),
    Kind("negation behind an ellipsis", _omitting_negation),
    Kind("men, women", _pairs(SEX)),
    Kind("included, excluded", _pairs(DECISION)),
    Kind("increased, decreased", _pairs(DIRECTION)),
    Kind("before, after; with, without", _pairs(TIME)),
    Kind("all, some; and, or", _pairs(AMOUNT)),
    Kind("un-, in-, non-", _pairs(PREFIX)),
    Kind("content word replaced", _foreign_word),
    Kind("content words swapped", _words_swapped),
    Kind("content word added", _word_added),
    Kind("content word dropped", _word_dropped),
    Kind("begins behind a negation", _verbatim, behind=BEHIND),
    Kind("ends before a negation", _verbatim, before=BEFORE),
    Kind("preposition exchanged", _pairs(PREPOSITIONS)),
    Kind("passive to active", _passive),
    Kind("active to passive", _active),
    Kind("sentences spliced", _spliced, longer=OMITTED),
    Kind("negation in a long omission", _long_omission, longer=OMITTED // 2),
    Kind("comparison turned round", _than_moved),
    Kind("they, it, we", _pairs(PRONOUNS)),
)


def _cased(draw: random.Random, quote: str, foreign: str) -> str | None:
    return draw.choice((quote.upper(), quote.lower(), quote.title()))


def _replacing(old: str, new: tuple[str, ...]) -> Mutation:
    def mutate(draw: random.Random, quote: str, foreign: str) -> str | None:
        return re.sub(old, draw.choice(new), quote) if re.search(old, quote) else None

    return mutate


def _quotation_marks(draw: random.Random, quote: str, foreign: str) -> str | None:
    before, after = draw.choice(("\u201c\u201d", '""', "\u00ab\u00bb", "\u2018\u2019", "\u201e\u201c"))
    return before + quote.replace("'", draw.choice("\u2019\u2018`")) + after


def _ligatures(draw: random.Random, quote: str, foreign: str) -> str | None:
    made = quote.replace("ffi", "\ufb03").replace("fi", "\ufb01").replace("fl", "\ufb02").replace("ff", "\ufb00")
    return None if made == quote else made


def _inside_a_word(mark: str) -> Mutation:
    def mutate(draw: random.Random, quote: str, foreign: str) -> str | None:
        words = list(_ANY_WORD.finditer(quote))
        if not words:
            return None
        word = draw.choice(words)
        place = draw.randint(word.start() + 2, word.end() - 2)
        return quote[:place] + mark + quote[place:]

    return mutate


def _ellipsis(draw: random.Random, quote: str, foreign: str) -> str | None:
    words = quote.split(" ")
    if len(words) < 7:
        return None
    start = draw.randint(2, len(words) - 4)
    end = draw.randint(start + 1, min(start + 6, len(words) - 2))
    omitted = " ".join(words[start:end])
    if _NEGATION.search(omitted) or "cannot" in omitted or re.search(r"[.?!:;]( |$)", f"{words[start - 1]} {omitted}"):
        return None
    return " ".join([*words[:start], draw.choice(("...", "\u2026", "[...]", "(\u2026)")), *words[end:]])


def _spelling(draw: random.Random, quote: str, foreign: str) -> str | None:
    return _pairs(BRITISH)(draw, quote, foreign)


def _punctuation(draw: random.Random, quote: str, foreign: str) -> str | None:
    made = re.sub(r"[,()](?!\d)|(?<!&lt)(?<!&gt)(?<!&amp);", "", quote)
    return f"{made}." if made == quote else made


def _function_words(draw: random.Random, quote: str, foreign: str) -> str | None:
    fitting = [(found, new) for old, new in FUNCTION for found in re.finditer(rf"(?<![\w-]){re.escape(old)}", quote)]
    if not fitting:
        return None
    found, new = draw.choice(fitting)
    return quote[: found.start()] + new + quote[found.end() :]


def _citation(draw: random.Random, quote: str, foreign: str) -> str | None:
    if not quote[-1].isalpha():
        return None
    return f"{quote}{draw.choice(('', ' '))}[{draw.choice(('3', '12', '4,5', '7-9', '1, 2'))}]{draw.choice(('', '.'))}"


def _numerals(draw: random.Random, quote: str, foreign: str) -> str | None:
    written = [
        (found, str(n))
        for n, one in enumerate(NUMERALS)
        for found in re.finditer(rf"(?<![\w-])(?<!ty ){one}(?![\w'])", quote)
    ]
    if not written:
        return None
    found, new = draw.choice(written)
    return quote[: found.start()] + new + quote[found.end() :]


def _thousands(draw: random.Random, quote: str, foreign: str) -> str | None:
    made = re.sub(r"(?<=\d),(?=\d{3}\b)", "", quote)
    return None if made == quote else made


HARMLESS = (
    Kind("verbatim", _verbatim),
    Kind("case", _cased),
    Kind("dashes", _replacing(r"(?<=\w)-(?=\w)", ("\u2010", "\u2011", "\u2013", "\u2014"))),
    Kind("hyphen opened", _replacing(r"(?<=[a-z])-(?=[a-z])", (" ",))),
    Kind("quotation marks", _quotation_marks),
    Kind("ligatures", _ligatures),
    Kind("hyphenation at a line's end", _inside_a_word("-\n ")),
    Kind("soft hyphen", _inside_a_word("\u00ad")),
    Kind("white space", _replacing(" ", ("\n", "  ", "\u00a0", " \n"))),
    Kind("ellipsis", _ellipsis),
    Kind("spelling", _spelling),
    Kind("punctuation", _punctuation),
    Kind("function words", _function_words),
    Kind("numbers in words", _numerals),
    Kind("thousands", _thousands),
    Kind("citation mark", _citation),
)
