"""Text in colours: its width on a terminal, and lines that are cut or wrapped to fit.

The width of text is measured in columns. A CJK character or an emoji is two columns wide.
"""

import itertools
import re
from collections.abc import Iterator, Sequence
from enum import IntEnum
from functools import lru_cache

from attrs import frozen

from acp_proxy.base.wording import visible


class Ink(IntEnum):
    """Colours that are readable on black and on white, as numbers in the palette of 256.

    The eight named colours are not used, since many themes make some of them unreadable.
    """

    TO_AGENT = 32
    """Blue."""
    TO_CLIENT = 28
    """Green."""
    STDERR = 130
    """Brown: stderr, and answers that took long."""
    PERMISSION = 163
    """Magenta."""
    TROUBLE = 196
    """Red."""
    FAINT = 244
    """Grey, for the least important parts."""


STREAM_INKS = {"to-agent": Ink.TO_AGENT, "to-client": Ink.TO_CLIENT, "stderr": Ink.STDERR}

Piece = tuple[str, int | None, bool]
"""Text without control characters, its colour (None for no colour), and whether it is bold."""
_GAP = re.compile(r"(?<!→) (?!(?<=\d )(?:[mµ]?s|[kMG]?B|min|h)\b|(?:by )?(?:the |an? )?\w+\])")
"""Matches each blank where a line may be broken: not after an arrow, not between a number and its
unit, and not within words such as ``by the agent`` directly before a ``]``."""
_NARROW = re.compile("[ -~¡-¬®-ʯ–—…←→−⋮─▁-█▏░▒▸▹✓✗]*")
"""Matches characters that take one column: Latin letters, and the marks of acp-proxy's screens."""
_LONG = 4
"""A text with `_LONG` times as many characters as there are columns is not measured: it is too wide
in any case."""


def piece(text: str, ink: int | None = None, *, bold: bool = False) -> Piece:
    """Returns a piece: text in one style, with control characters as escapes.

    Args:
        text: any text.
        ink: the colour; None for the terminal's default.
        bold: whether the text is bold.
    """
    return visible(text), ink, bold


def text_of(pieces: Sequence[Piece]) -> str:
    """Returns the text of pieces without their styles."""
    return "".join([text for text, _, _ in pieces])


@frozen
class Screen:
    """Makes lines for a terminal or a pipe. In a pipe, lines are neither cut nor wrapped."""

    columns: int | None = None
    """The width of the terminal in columns; None if the output is not a terminal."""
    color: bool = False

    def line(self, *pieces: Piece) -> str:
        """Returns a line that is cut to the width of the terminal, without trailing blanks."""
        return self.whole(*cut(pieces, self.columns))

    def whole(self, *pieces: Piece) -> str:
        """Returns a whole line of any width, without trailing blanks."""
        if not self.color:
            return text_of(pieces).rstrip()
        return "".join([_painted(*part) for part in _stripped(pieces)])

    def paint(self, part: Piece) -> str:
        """Returns a part of a line with its colour."""
        return _painted(*part) if self.color else part[0]

    def wrapped(self, first: Piece, *pieces: Piece, indent: int | None = None) -> Iterator[str]:
        """Yields lines that are wrapped to the width of the terminal.

        Args:
            first: the piece before the text of the first line.
            *pieces: the text.
            indent: the indentation of the lines after the first; the default is the width of
                `first`.
        """
        indent = columns_of(first[0]) if indent is None else indent
        lead = first
        for line in wrap(pieces, None if self.columns is None else self.columns - indent):
            yield self.line(lead, *line)
            lead = (" " * indent, None, False)


def cut(pieces: Sequence[Piece], columns: int | None) -> Sequence[Piece]:
    """Cuts a line to a width. A cut line ends with an ellipsis.

    Args:
        pieces: the pieces of the line. Blanks at its end do not count.
        columns: the largest width; None if there is no limit.
    """
    if columns is None:
        return pieces
    line = _stripped(pieces)
    fitting: list[Piece] = []
    for number, (text, ink, bold) in enumerate(line, 1):
        taken = len(text) if len(text) > _LONG * columns else columns_of(text)
        if taken > columns or (taken == columns and number < len(line)):
            fitting.append((fit(text if taken > columns else f"{text}…", columns), ink, bold))
            return fitting
        columns -= taken
        fitting.append((text, ink, bold))
    return fitting


def wrap(pieces: Sequence[Piece], columns: int | None) -> Iterator[list[Piece]]:
    """Wraps text between words; breaks only words that are too long. Returns at least one line.

    Args:
        pieces: the text.
        columns: the largest width of a line; None if there is no limit.
    """
    if columns is None:
        yield list(pieces)
        return
    line: list[Piece] = []
    taken, columns = 0, max(1, columns)
    for word, ink, bold in _words(pieces, columns):
        if taken + columns_of(word.rstrip(" ")) > columns and line:
            yield line
            line, taken = [], 0
            word = word.lstrip(" ")
        taken += columns_of(word)
        if line and line[-1][1:] == (ink, bold):
            word = line.pop()[0] + word
        line.append((word, ink, bold))
    yield line


def fit(text: str, columns: int | None) -> str:
    """Cuts the end of a text that is too wide. An ellipsis replaces the end.

    Args:
        text: the text, without control characters.
        columns: the largest width; None if there is no limit.
    """
    if columns is None:
        return text
    if columns <= 0:
        return ""
    if text.isascii():
        return text if len(text) <= columns else f"{text[: columns - 1]}…"
    taken = place = end = 0
    for cluster in clusters(text):
        taken += columns_of(cluster)
        if taken > columns:
            return f"{text[:end]}…"
        place += len(cluster)
        if taken < columns:  # after this character, there is still room for the ellipsis
            end = place
    return text


def fit_end(text: str, columns: int) -> str:
    """Cuts the beginning of a text that is too wide. An ellipsis replaces the beginning.

    Args:
        text: the text, without control characters.
        columns: the largest width.
    """
    if columns_of(text) <= columns:
        return text
    if columns < 1:
        return ""
    while columns_of(text) > columns - 1:
        text = text[1:]
    return f"…{text}"


def fit_middle(text: str, columns: int) -> str:
    """Cuts the middle of a text that is too wide; keeps equal parts of the beginning and the end.

    Args:
        text: the text, without control characters.
        columns: the largest width.
    """
    if columns_of(text) <= columns:
        return text
    end = fit_end(text, max(0, columns - columns // 2))
    head = fit(text, columns - columns_of(end) + 1).removesuffix("…")
    return f"{head}{end}"


def pad(text: str, columns: int) -> str:
    """Pads text with blanks to a number of columns.

    Args:
        text: the text, without control characters.
        columns: the width to fill.
    """
    return text + " " * max(0, columns - columns_of(text))


def columns_of(text: str) -> int:
    """Returns how many columns text takes on a terminal."""
    return len(text) if text.isascii() or _NARROW.fullmatch(text) else _columns_of(text)


def clusters(text: str) -> Iterator[str]:
    """Splits text where it may be cut. Emoji sequences and letters with accents stay whole."""
    start = 0
    for place, (before, character) in enumerate(itertools.pairwise(text), 1):
        if not _is_joined(before, character, place - start):
            yield text[start:place]
            start = place
    if text:
        yield text[start:]


@lru_cache(1024)
def _columns_of(text: str) -> int:
    # Late: most text is narrow, and the tables of characters take time to import.
    from wcwidth import wcswidth, wcwidth

    columns = wcswidth(text)
    return columns if columns >= 0 else sum(max(0, wcwidth(c)) for c in text)


def _is_joined(before: str, character: str, length: int) -> bool:
    if character.isascii():
        return False
    if "\U0001f1e6" <= character <= "\U0001f1ff":  # two regional indicators make a flag
        return length == 1 and "\U0001f1e6" <= before <= "\U0001f1ff"
    is_skin = "\U0001f3fb" <= character <= "\U0001f3ff"
    return before == "\u200d" or is_skin or columns_of(character) == 0


def _painted(text: str, ink: int | None, bold: bool) -> str:
    if not text or (ink is None and not bold):
        return text
    codes = ";".join(filter(None, ("1" if bold else "", "" if ink is None else f"38;5;{ink:d}")))
    return f"\x1b[{codes}m{text}\x1b[0m"


def _stripped(pieces: Sequence[Piece]) -> Sequence[Piece]:
    """Returns pieces without trailing blanks."""
    if pieces and pieces[-1][0] == pieces[-1][0].rstrip() != "":
        return pieces
    line = [*pieces]
    while line and not line[-1][0].strip():
        line.pop()
    line[-1:] = [(text.rstrip(), ink, bold) for text, ink, bold in line[-1:]]
    return line


def _words(pieces: Sequence[Piece], columns: int) -> Iterator[Piece]:
    """Yields words, each with the blank that follows it.

    A word that is too wide is split, if possible after ``/``.
    """
    for text, ink, bold in pieces:
        for word in _GAP.sub(" \0", text).split("\0"):
            if columns_of(word) <= columns:
                if word:
                    yield word, ink, bold
                continue
            part, wide = "", 0
            for cluster in clusters(word):
                if wide + columns_of(cluster) > columns:
                    end = part.rfind("/") + 1 or len(part)
                    yield part[:end], ink, bold
                    part = part[end:]
                    wide = columns_of(part)
                part += cluster
                wide += columns_of(cluster)
            yield part, ink, bold
