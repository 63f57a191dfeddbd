"""Text in colours: pieces that are painted, cut or wrapped to the terminal."""

from collections.abc import Iterator, Sequence

import click

from acp_proxy.cli.render.output import clusters, columns_of, fit, pad, paint, use_color, width
from acp_proxy.safe_text import visible

Piece = tuple[str, int | None, bool]
"""Text without control characters, its colour, and whether it is bold."""
_LONG = 4
"""A text with so many times more characters than there are columns is not measured."""


def piece(text: str, ink: int | None = None, *, bold: bool = False) -> Piece:
    """Makes text in one style, safe to print.

    Args:
        text: any text.
        ink: its colour; None for that of the terminal.
        bold: whether it is bold.
    """
    return visible(text), ink, bold


def text_of(pieces: Sequence[Piece]) -> str:
    """Returns the text of pieces without their styles."""
    return "".join([text for text, _, _ in pieces])


def stripped(pieces: Sequence[Piece]) -> Sequence[Piece]:
    """Returns pieces without the blanks at their end."""
    if pieces and pieces[-1][0] == pieces[-1][0].rstrip() != "":
        return pieces
    line = [*pieces]
    while line and not line[-1][0].strip():
        line.pop()
    line[-1:] = [(text.rstrip(), ink, bold) for text, ink, bold in line[-1:]]
    return line


def painted(pieces: Sequence[Piece], *, color: bool) -> str:
    """Joins pieces to a line, without blanks at its end.

    Args:
        pieces: the line.
        color: whether to colour.
    """
    if not color:
        return text_of(pieces).rstrip()
    return "".join([paint(text, ink, bold=bold) for text, ink, bold in stripped(pieces)])


def cut(pieces: Sequence[Piece], columns: int | None) -> Sequence[Piece]:
    """Returns the pieces of a line that fit; the last one ends with an ellipsis if more is left.

    Args:
        pieces: the line; the blanks at its end need no room.
        columns: the room; None if there is no limit.
    """
    if columns is None:
        return pieces
    line = stripped(pieces)
    fitting: list[Piece] = []
    for number, (text, ink, bold) in enumerate(line, 1):
        taken = len(text) if len(text) > _LONG * columns else columns_of(text)
        if taken > columns or (taken == columns and number < len(line)):
            fitting.append((fit(text if taken > columns else f"{text}…", columns), ink, bold))
            return fitting
        columns -= taken
        fitting.append((text, ink, bold))
    return fitting


class Paragraphs:
    """Prints lines, paragraphs and lists on stdout.

    Attributes:
        columns: of the terminal, or None if there is none.
    """

    def __init__(self) -> None:
        self.columns = width()
        self._color = use_color()

    def line(self, *pieces: Piece) -> None:
        """Prints one line as it is."""
        click.echo(painted(pieces, color=self._color), color=self._color)

    def paragraph(self, first: str, rest: str, *pieces: Piece, ink: int | None = None) -> None:
        """Prints pieces, wrapped to the terminal.

        Args:
            first: what stands before the first line.
            rest: the indentation of the others.
            *pieces: the text.
            ink: the colour of ``first``.
        """
        room = None if self.columns is None else self.columns - columns_of(rest)
        lead: Piece = (first, ink, ink is not None)
        for line in wrap(pieces, room):
            self.line(lead, *line)
            lead = (rest, None, False)

    def table(self, rows: Sequence[Sequence[Piece]], indent: str, *, is_cut: bool = False) -> None:
        """Prints cells that are as wide as the widest; only the last one in a row has to fit.

        Args:
            rows: of one piece for each cell.
            indent: what stands before each line.
            is_cut: whether the last cell is cut to the terminal, and not wrapped.
        """
        count = max(map(len, rows), default=0)
        widths = [
            max((columns_of(row[n][0]) for row in rows if n < len(row)), default=0)
            for n in range(count - 1)
        ]
        for row in rows:
            lead = [piece(indent)]
            for (text, ink, bold), wide in zip(row[:-1], widths, strict=False):
                lead.append((pad(text, wide + 2), ink, bold))
            taken = columns_of(text_of(lead))
            room = None if self.columns is None else max(20, self.columns - taken)
            for line in [cut(row[-1:], room)] if is_cut else wrap(row[-1:], room):
                self.line(*lead, *line)
                lead = [piece(" " * taken)]


def wrap(pieces: Sequence[Piece], columns: int | None) -> Iterator[list[Piece]]:
    """Breaks text into lines between words, and a word only if it has to be; at least one line.

    Args:
        pieces: the text.
        columns: the room; None if there is no limit.
    """
    if columns is None:
        yield list(pieces)
        return
    line: list[Piece] = []
    taken = 0
    for word, ink, bold in _words(pieces, max(1, columns)):
        wide = columns_of(word)
        if taken + columns_of(word.rstrip(" ")) > columns and line:
            yield line
            line, taken = [], 0
            word = word.lstrip(" ")
            wide = columns_of(word)
        line.append((word, ink, bold))
        taken += wide
    yield line


def _words(pieces: Sequence[Piece], columns: int) -> Iterator[Piece]:
    """Words with the space that follows them; one that is wider than a line comes in parts."""
    for text, ink, bold in pieces:
        for word in text.replace(" ", " \0").split("\0"):
            if columns_of(word) <= columns:
                if word:
                    yield word, ink, bold
                continue
            part, wide = "", 0
            for cluster in clusters(word):
                if wide + columns_of(cluster) > columns:
                    yield part, ink, bold
                    part, wide = "", 0
                part += cluster
                wide += columns_of(cluster)
            yield part, ink, bold
