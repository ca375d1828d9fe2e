"""The ways in which files are damaged; each takes a generator of random numbers, and so is the same every time."""

from collections.abc import Callable, Sequence
from random import Random
from typing import TypeAlias

Confined: TypeAlias = Callable[[Random, str, Sequence[str]], str]  # a piece and lines of other formats -> what is left
Damage: TypeAlias = Callable[[Random, bytes, bytes], bytes]  # a file and one in another format -> what is left

SIGNS = "{}\"'<>&%@#;,|-=: \t0aZ\x01é\u2028\ufeff"
ENCODINGS = ("utf-8", "utf-16", "utf-16-le", "cp1252", "latin-1", "utf-8-sig", "utf-32")


def _body(piece: str) -> tuple[list[str], str]:
    """The lines of a piece, and the line ends behind them, which belong to the file."""
    body = piece.rstrip("\n")
    return body.split("\n"), piece[len(body) :]


def sign_changed(random: Random, piece: str, _: Sequence[str]) -> str:
    at = random.choice([at for at, sign in enumerate(piece) if sign != "\n"])
    return piece[:at] + random.choice(SIGNS) + piece[at + 1 :]


def signs_lost(random: Random, piece: str, _: Sequence[str]) -> str:
    lines, end = _body(piece)
    at = random.randrange(len(lines))
    start = random.randrange(len(lines[at]) + 1)
    lines[at] = lines[at][:start] + lines[at][start + random.randint(1, 9) :]
    return "\n".join(lines) + end


def line_lost(random: Random, piece: str, _: Sequence[str]) -> str:
    lines, end = _body(piece)
    if len(lines) > 1:
        del lines[random.randrange(len(lines))]
    return "\n".join(lines) + end


def line_doubled(random: Random, piece: str, _: Sequence[str]) -> str:
    lines, end = _body(piece)
    at = random.randrange(len(lines))
    lines.insert(at, lines[at])
    return "\n".join(lines) + end


def lines_changed_places(random: Random, piece: str, _: Sequence[str]) -> str:
    lines, end = _body(piece)
    if len(lines) > 1:
        at = random.randrange(len(lines) - 1)
        lines[at : at + 2] = lines[at + 1], lines[at]
    return "\n".join(lines) + end


def strange_line(random: Random, piece: str, foreign: Sequence[str]) -> str:
    lines, end = _body(piece)
    lines.insert(random.randrange(1, len(lines) + 1), random.choice(foreign))
    return "\n".join(lines) + end


def beginning_lost(random: Random, piece: str, _: Sequence[str]) -> str:
    lines, end = _body(piece)
    return "\n".join(lines[random.randrange(len(lines)) :]) + end


def end_lost(random: Random, piece: str, _: Sequence[str]) -> str:
    lines, end = _body(piece)
    kept = lines[: random.randint(1, len(lines))]
    kept[-1] = kept[-1][: random.randint(1, max(1, len(kept[-1])))]
    return "\n".join(kept) + end


CONFINED: tuple[Confined, ...] = (
    sign_changed,
    signs_lost,
    line_lost,
    line_doubled,
    lines_changed_places,
    strange_line,
    beginning_lost,
    end_lost,
)


def bytes_flipped(random: Random, raw: bytes, _: bytes) -> bytes:
    damaged = bytearray(raw)
    for _time in range(random.choice((1, 3, 30))):
        damaged[random.randrange(len(damaged))] ^= 1 << random.randrange(8)
    return bytes(damaged)


def cut_off(random: Random, raw: bytes, _: bytes) -> bytes:
    start = random.choice((0, 0, random.randrange(len(raw))))
    return raw[start : random.randrange(start, len(raw)) + 1]


def nuls(random: Random, raw: bytes, _: bytes) -> bytes:
    at = random.randrange(len(raw))
    return raw[:at] + b"\0" * random.choice((1, 2, 500)) + raw[at + random.choice((0, 2)) :]


def lines_deleted(random: Random, raw: bytes, _: bytes) -> bytes:
    share = random.choice((0.02, 0.2, 0.6))
    return b"".join(line for line in raw.splitlines(keepends=True) if random.random() > share)


def lines_repeated(random: Random, raw: bytes, _: bytes) -> bytes:
    return b"".join(line * random.choice((1, 1, 1, 2, 3)) for line in raw.splitlines(keepends=True))


def lines_shuffled(random: Random, raw: bytes, _: bytes) -> bytes:
    lines = raw.splitlines(keepends=True)
    at, size = random.randrange(len(lines)), random.choice((3, 10, len(lines)))
    some = lines[at : at + size]
    random.shuffle(some)
    return b"".join([*lines[:at], *some, *lines[at + size :]])


def interleaved(random: Random, raw: bytes, other: bytes) -> bytes:
    lines = [raw.splitlines(keepends=True), other.splitlines(keepends=True)]
    mixed: list[bytes] = []
    while any(lines):
        source = random.choice([one for one in lines if one])
        taken = random.choice((1, 5))
        mixed += source[:taken]
        del source[:taken]
    return b"".join(mixed)


def concatenated(random: Random, raw: bytes, other: bytes) -> bytes:
    return raw + random.choice((b"", b"\n", b"\xef\xbb\xbf", b"\r\n\r\n")) + other


def encoded_in_parts(random: Random, raw: bytes, other: bytes) -> bytes:
    at = random.randrange(len(raw))
    text = other.decode("utf-8", errors="replace")
    return raw[:at] + text.encode(random.choice(ENCODINGS), errors="replace") + raw[at:]


def other_line_ends(random: Random, raw: bytes, _: bytes) -> bytes:
    return b"".join(line + random.choice((b"\n", b"\r\n", b"\r", b"\r\r\n", b"\x0b")) for line in raw.splitlines())


def lines_broken(random: Random, raw: bytes, _: bytes) -> bytes:
    width = random.choice((1, 20, 60))
    return b"\n".join(raw[at : at + width] for at in range(0, len(raw), width))


ANYWHERE: tuple[Damage, ...] = (
    bytes_flipped,
    cut_off,
    nuls,
    lines_deleted,
    lines_repeated,
    lines_shuffled,
    interleaved,
    concatenated,
    encoded_in_parts,
    other_line_ends,
    lines_broken,
)
