"""English words for the numbers from zero to ninety-nine. Pure."""

UNITS = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
    *("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
_TENS_IN_ORDER = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
TENS = {word: 10 * n for n, word in enumerate(_TENS_IN_ORDER, 2)}
NUMBER_WORDS = {
    **{word: n for n, word in enumerate(UNITS)},
    **TENS,
    **{f"{ten}-{UNITS[unit]}": tens + unit for ten, tens in TENS.items() for unit in range(1, 10)},
}
