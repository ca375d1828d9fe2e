"""Decoding and encoding of LaTeX in bibliographies: accents, symbols, escapes and a few commands.

`decode` accepts the text of people and databases, not only valid TeX. So `%` is a per cent sign and not a comment,
`$5 and $10` are prices, and unknown commands stay. `decode` runs in linear time, and reverses `encode`.
"""

import html
import re
import unicodedata
from collections.abc import Mapping
from functools import cache

from tamis_schemas.extras import needs

ACCENTS: Mapping[str, str] = {  # the command -> the combining sign
    "`": "\u0300", "'": "\u0301", "^": "\u0302", "~": "\u0303", "=": "\u0304", "u": "\u0306", ".": "\u0307",
    '"': "\u0308", "r": "\u030a", "H": "\u030b", "v": "\u030c", "d": "\u0323", "c": "\u0327", "k": "\u0328",
    "b": "\u0331",
}  # fmt: skip
# Commands that pylatexenc lacks, or translates to a rarer character.
OWN_SYMBOLS: Mapping[str, str] = {
    "S": "§", "P": "¶", "ddag": "‡", "copyright": "©", "pounds": "£", "euro": "€", "textasciicircum": "^",
    "textbraceleft": "{", "textbraceright": "}", "textless": "<", "textgreater": ">", "textbar": "|",
    "textunderscore": "_", "textquotedbl": '"', "textperiodcentered": "·", "degree": "°", "circ": "°", "prime": "′",
    "quad": " ", "qquad": " ", "newline": " ", "epsilon": "ε", "phi": "φ",
}  # fmt: skip
# Formatting commands, which are removed even without braces. Of any other unknown command with braces, only the text in
# the braces stays.
LOOKS = frozenset(("it", "bf", "em", "rm", "sc", "sl", "tt", "itshape", "bfseries"))
SPACES = frozenset(" ,;:!")  # after a backslash
_TOKEN = re.compile(
    r"""\\(?P<accent>["'`^~=.])\s*\{?\s*(?P<under>\\[ij](?![A-Za-z])|[^\W\d_])"""
    r"""|\\(?P<lettered>[uvHcdbrk])(?:\s*\{\s*|\s+)(?P<below>\\[ij](?![A-Za-z])|[^\W\d_])"""
    r"""|\\(?P<word>[A-Za-z]+)(?P<gap>\{\}|[ \t]+)?(?P<argument>(?=\{))?"""
    r"""|\\&(?:\\(?=\#))?(?P<entity>(?:\#x?[0-9A-Fa-f]{1,7}|amp|lt|gt|quot|apos|nbsp);)"""
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

    If `typeset` is False, as for URLs and DOIs, `~`, `--` and `$` are literal.
    """
    text = latex.strip(" \t\n")
    if "\n" in text:
        lines = "\n".join(line.strip(" \t") for line in text.split("\n"))
        text = re.sub(r"\n+", lambda breaks: "\n" * (len(breaks[0]) - 1) or " ", lines)
    return (_TYPESET if typeset else _TOKEN).sub(_plain, text)


def encode(text: str) -> str:
    """Return `text` as LaTeX that fits between braces. `decode` returns the text again.

    Carriage returns become line feeds. No line begins with `@`, which would begin a BibTeX entry.
    """
    latex = re.sub(r"\r\n?", "\n", text).translate(_ESCAPES)
    latex = re.sub(r"([`'-])(?=\1)|(&)(?=\\?#|[a-z]+;)", r"\g<0>{}", latex)  # neither ligature nor entity
    latex = re.sub(r"(?<=\n)(?=[ \t@])|(?<=[ \t])(?=\n)", "{}", latex)
    latex = re.sub(r"\n+", r"\g<0>\n", latex)
    return re.sub(r"\A(?=[ \t\n])|(?<=[ \t\n])\Z", "{}", latex)


@cache
def _symbols() -> Mapping[str, str]:
    """Return a mapping from LaTeX command to character. The import of pylatexenc takes 60 ms, so it is only here."""
    with needs("files"):
        from pylatexenc.latex2text import get_default_latex_context_db

    texts = {spec.macroname: spec.simplify_repl for spec in get_default_latex_context_db().iter_macro_specs()}
    characters = {name: text for name, text in texts.items() if isinstance(text, str) and len(text) == 1}
    return {**characters, **OWN_SYMBOLS}


def _plain(token: re.Match[str]) -> str:
    parts = token.groupdict()
    if (command := parts["accent"] or parts["lettered"]) is not None:
        return unicodedata.normalize("NFC", (parts["under"] or parts["below"])[-1] + ACCENTS[command])
    if (word := parts["word"]) is not None:
        gap = parts["gap"] or ""
        if (symbol := _symbols().get(word)) is not None:
            return symbol
        is_dropped = word in LOOKS or parts["argument"] is not None
        return "" if is_dropped else f"\\{word}" + ("" if gap == "{}" else gap)
    if (entity := parts["entity"]) is not None:
        return html.unescape(f"&{entity}")
    if (escaped := parts["escaped"]) is not None:
        return " " if escaped in SPACES else "" if escaped in "-/" else " " if escaped == "\\" else escaped
    if parts["brace"] is not None:
        return ""
    if (math := parts.get("math")) is not None:
        return _TYPESET.sub(_plain, math) if re.search(r"[\\^_{}=<>]", math) else token[0]
    return _LIGATURES[parts["ligature"]]
