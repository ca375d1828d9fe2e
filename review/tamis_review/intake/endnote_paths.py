"""The texts of an EndNote record, each under its path of elements, and the record rebuilt from these texts.

A path such as `titles/title/~` names the elements around a text, outermost first, with their attributes. `~` is the
style element that EndNote puts around ordinary text. A plus begins a new element after an element of the same name:
`contributors/authors/+author/~`.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import count
from sys import intern

from tamis_producer.files.decode import LINE_END
from tamis_schemas.extras import needs

with needs("files"):
    from lxml import etree

PLAIN_STYLE = 'style face="normal" font="default" size="100%"'
STYLE = "style"

_STEP = re.compile(r"[A-Za-z_][\w.-]*(?: [A-Za-z_][\w.:-]*=\"[^\"<>]*\")*")
_NOT_IN_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


@dataclass(frozen=True)
class Leaf:
    """A text of an XML record, or an element without text, with its path of elements."""

    path: str
    text: str
    of: int = 0  # number of the text's element in the record; the texts of one element, in several styles, share it

    @property
    def element(self) -> str:
        """Return the names of the path's elements, without attributes, styles and plus signs: `titles/title`."""
        steps = [step.lstrip("+").partition(" ")[0] for step in self.path.split("/")]
        return "/".join(step for step in steps if step not in ("~", STYLE))


def leaves_of(record: etree._Element) -> Iterator[Leaf]:
    """Yield the texts of a record in order, each with its path. Omit comments and white space between elements."""
    for steps, text, of in _leaves(record, [], 0, count(1)):
        yield Leaf(intern("/".join(steps)), LINE_END.sub("\n", text), of)  # records share most paths


def begins_anew(path: str, element: str) -> str:
    """Return the path with a plus before the step `element`, so that a new element begins."""
    return "/".join(f"+{step}" if step.partition(" ")[0] == element else step for step in path.split("/"))


def xml_of(leaves: Iterable[Leaf], line_break: str) -> str:
    """Return the XML of the elements whose paths and texts are the leaves. Line breaks in texts become `line_break`."""
    parts: list[str] = []
    opened: list[str] = []
    for leaf in leaves:
        steps = leaf.path.split("/")
        if not all(step.lstrip("+") == "~" or _STEP.fullmatch(step.lstrip("+")) for step in steps):
            continue  # not a path from a file
        shared = 0
        while shared < min(len(steps), len(opened)) and steps[shared] == opened[shared]:
            shared += 1
        _close(opened, shared, parts)
        for step in steps[shared:]:
            parts.append(f"<{_tag(step)}>")
            opened.append(step.lstrip("+"))
        parts.append(escaped(leaf.text, line_break))
    _close(opened, 0, parts)
    return "".join(parts)


def escaped(text: str, line_break: str) -> str:
    """Return a text with XML's escapes. Control characters, which XML forbids, become spaces."""
    return LINE_END.sub(line_break, _NOT_IN_XML.sub(" ", text).translate(_ESCAPES))


def without_controls(text: str) -> str:
    """Return XML with spaces for the control characters that EndNote writes but XML forbids."""
    text = _NOT_IN_XML.sub(" ", text)
    return re.sub(r"&#(?:0*(?:[0-8]|1[124-9]|2\d|3[01])|x0*(?:[0-8BCEFbcef]|1[0-9A-Fa-f]));", " ", text)


def _leaves(
    element: etree._Element, path: list[str], of: int, numbers: Iterator[int]
) -> Iterator[tuple[list[str], str, int]]:
    """Yield each text of an element: its path as a list of steps, the text, and the number of the enclosing element.

    Args:
        element: the element.
        path: the steps to the element.
        of: the element's number in the record.
        numbers: the numbers for further elements.
    """
    children = [child for child in element if isinstance(child.tag, str)]
    is_mixed = not children or any(child.tag == STYLE for child in children)
    if path and (not children or _says(element.text, is_mixed)):
        yield path, element.text or "", of
    before: str | None = None  # the step of the previous element
    for child in element:
        if isinstance(child.tag, str):
            step = _step(child)
            element_number = of if child.tag == STYLE else next(numbers)
            for number, (steps, text, part_of) in enumerate(_leaves(child, [*path, step], element_number, numbers)):
                anew = number == 0 and step == before
                yield ([*path, f"+{step}", *steps[len(path) + 1 :]] if anew else steps), text, part_of
            before = step
        if path and _says(child.tail, is_mixed):
            yield path, child.tail or "", of
            before = None


def _says(text: str | None, is_mixed: bool) -> bool:
    """Return True if a text belongs to the record. A blank text belongs to it only within a line of styled text.

    `is_mixed`: whether the element may contain text of its own.
    """
    return bool(text) and (not str(text).isspace() or (is_mixed and "\n" not in str(text)))


def _step(element: etree._Element) -> str:
    attributes = "".join(f' {name!s}="{_attribute(str(value))}"' for name, value in element.attrib.items())
    step = f"{element.tag!s}{attributes}"
    return "~" if step == PLAIN_STYLE else step


def _attribute(value: str) -> str:
    # A slash separates the steps of a path.
    signs = {'"': "&quot;", "/": "&#47;", "\n": "&#10;", "\t": "&#9;", "\r": "&#13;"}
    return re.sub(r'["/\n\t\r]', lambda sign: signs[sign[0]], value.translate(_ESCAPES))


def _tag(step: str) -> str:
    plain = step.lstrip("+")
    return PLAIN_STYLE if plain == "~" else plain.replace("&#47;", "/")


def _close(opened: list[str], down_to: int, parts: list[str]) -> None:
    while len(opened) > down_to:
        tag = _tag(opened.pop())
        if parts[-2:] == [f"<{tag}>", ""]:
            parts[-2:] = [f"<{tag}/>"]
        else:
            parts.append(f"</{tag.partition(' ')[0]}>")
