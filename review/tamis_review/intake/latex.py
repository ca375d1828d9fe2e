"""Decoding and encoding of LaTeX in bibliographies: accents, symbols, escapes and a few commands.

`decode` accepts the text of people and databases, not only valid TeX: a bare `%` is a per cent sign and no comment,
`$5 and $10` are prices, and unknown commands stay. `decode` runs in linear time, and reverses `encode`.
"""

import re
import unicodedata
from collections.abc import Mapping

ACCENTS: Mapping[str, str] = {  # the command -> the combining sign
    "`": "\u0300", "'": "\u0301", "^": "\u0302", "~": "\u0303", "=": "\u0304", "u": "\u0306", ".": "\u0307",
    '"': "\u0308", "r": "\u030a", "H": "\u030b", "v": "\u030c", "d": "\u0323", "c": "\u0327", "k": "\u0328",
    "b": "\u0331",
}  # fmt: skip
SYMBOLS: Mapping[str, str] = {
    "ss": "ß", "ae": "æ", "AE": "Æ", "oe": "œ", "OE": "Œ", "aa": "å", "AA": "Å", "o": "ø", "O": "Ø", "l": "ł", "L": "Ł",
    "i": "ı", "j": "ȷ", "dh": "ð", "DH": "Ð", "th": "þ", "TH": "Þ", "dj": "đ", "DJ": "Đ", "ng": "ŋ", "NG": "Ŋ",
    "S": "§", "P": "¶", "dag": "†", "ddag": "‡", "copyright": "©", "textcopyright": "©", "textregistered": "®",
    "texttrademark": "™", "pounds": "£", "textsterling": "£", "euro": "€", "texteuro": "€", "textdegree": "°",
    "textbackslash": "\\", "backslash": "\\", "textasciitilde": "~", "textasciicircum": "^", "textbraceleft": "{",
    "textbraceright": "}", "lbrace": "{", "rbrace": "}", "textless": "<", "textgreater": ">", "textbar": "|",
    "textunderscore": "_", "textdollar": "$", "textquotedbl": '"', "textquotedblleft": "“", "textquotedblright": "”",
    "textquoteleft": "‘", "textquoteright": "’", "textquotesingle": "'", "textendash": "–", "textemdash": "—",
    "textellipsis": "…", "ldots": "…", "dots": "…", "textbullet": "•", "textperiodcentered": "·", "cdot": "·",
    "textmu": "µ", "textpm": "±", "pm": "±", "mp": "∓", "times": "×", "texttimes": "×", "div": "÷", "leq": "≤",
    "le": "≤", "geq": "≥", "ge": "≥", "neq": "≠", "approx": "≈", "sim": "∼", "infty": "∞", "rightarrow": "→", "to": "→",
    "leftarrow": "←", "degree": "°", "circ": "°", "prime": "′", "quad": " ", "qquad": " ", "newline": " ",
    **{name: unicodedata.lookup(f"GREEK SMALL LETTER {name.upper()}") for name in
       ("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa", "mu", "nu", "xi", "pi",
        "rho", "sigma", "tau", "upsilon", "phi", "chi", "psi", "omega")},
    **{name: unicodedata.lookup(f"GREEK CAPITAL LETTER {name.upper()}") for name in
       ("Gamma", "Delta", "Theta", "Xi", "Pi", "Sigma", "Upsilon", "Phi", "Psi", "Omega")},
    "lambda": "λ", "Lambda": "Λ", "varepsilon": "ε", "vartheta": "ϑ", "varphi": "φ",
}  # fmt: skip
# Formatting commands: only their text stays.
LOOKS = frozenset((
    "emph", "textit", "textbf", "textrm", "textsf", "texttt", "textsc", "textsl", "textup", "textnormal",
    "textsuperscript", "textsubscript", "underline", "mbox", "text", "mathrm", "mathit", "mathbf", "mathsf",
    "ensuremath", "it", "bf", "em", "rm", "sc", "sl", "tt", "itshape", "bfseries", "url", "path",
))  # fmt: skip
SPACES = frozenset(" ,;:!")  # after a backslash
_TOKEN = re.compile(
    r"""\\(?P<accent>["'`^~=.])\s*\{?\s*(?P<under>\\[ij](?![A-Za-z])|[^\W\d_])"""
    r"""|\\(?P<lettered>[uvHcdbrk])(?:\s*\{\s*|\s+)(?P<below>\\[ij](?![A-Za-z])|[^\W\d_])"""
    r"""|\\(?P<word>[A-Za-z]+)(?P<gap>\{\}|[ \t]+)?"""
    r"""|\\(?P<escaped>[^A-Za-z\n])(?:(?<=[~^])\{\})?"""
    r"""|(?P<brace>[{}])"""
)
_TYPESET = re.compile(
    _TOKEN.pattern + r"""|\$(?P<math>[^\s$](?:[^$\n]{0,200}[^\s$\\])?)\$(?!\d)|(?P<ligature>---?|``|''|~)"""
)
_LIGATURES = {"---": "—", "--": "–", "``": "“", "''": "”", "~": " "}
_ESCAPES = str.maketrans(
    {
        "\\": r"\textbackslash{}", "{": r"\textbraceleft{}", "}": r"\textbraceright{}", "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}", "$": r"\$", "&": r"\&", "%": r"\%", "#": r"\#", "_": r"\_",
    }
)  # fmt: skip


def decode(latex: str, *, typeset: bool = True) -> str:
    """Return the text of `latex`. A line break becomes a space, and an empty line becomes a line break.

    If `typeset` is False, as for addresses, `~`, `--` and `$` are literal.
    """
    text = latex.strip(" \t\n")
    if "\n" in text:
        lines = "\n".join(line.strip(" \t") for line in text.split("\n"))
        text = re.sub(r"\n+", lambda breaks: "\n" * (len(breaks[0]) - 1) or " ", lines)
    return (_TYPESET if typeset else _TOKEN).sub(_plain, text)


def encode(text: str) -> str:
    """Return `text` as LaTeX that fits between braces. `decode` undoes this.

    Carriage returns become line feeds. No line begins with `@`, which would begin an entry.
    """
    latex = re.sub(r"\r\n?", "\n", text).translate(_ESCAPES)
    latex = re.sub(r"([`'-])(?=\1)", r"\1{}", latex)
    latex = re.sub(r"(?<=\n)(?=[ \t@])|(?<=[ \t])(?=\n)", "{}", latex)
    latex = re.sub(r"\n+", r"\g<0>\n", latex)
    return re.sub(r"\A(?=[ \t\n])|(?<=[ \t\n])\Z", "{}", latex)


def _plain(token: re.Match[str]) -> str:
    parts = token.groupdict()
    if (command := parts["accent"] or parts["lettered"]) is not None:
        return unicodedata.normalize("NFC", (parts["under"] or parts["below"])[-1] + ACCENTS[command])
    if (word := parts["word"]) is not None:
        gap = parts["gap"] or ""
        if word in LOOKS:
            return ""
        return SYMBOLS[word] if word in SYMBOLS else f"\\{word}" + ("" if gap == "{}" else gap)
    if (escaped := parts["escaped"]) is not None:
        return " " if escaped in SPACES else "" if escaped in "-/" else " " if escaped == "\\" else escaped
    if parts["brace"] is not None:
        return ""
    if (math := parts.get("math")) is not None:
        return _TYPESET.sub(_plain, math) if re.search(r"[\\^_{}=<>]", math) else token[0]
    return _LIGATURES[parts["ligature"]]
