"""Text in colours that is wrapped to the terminal and never cut; in a pipe, one line each."""

from collections.abc import Iterator

import click

from acp_proxy.cli.render.output import clusters, columns_of, fit, paint, use_color, width
from acp_proxy.safe_text import visible

Piece = tuple[str, int | None, bool]
"""Text, its colour, and whether it is bold."""


def piece(text: str, ink: int | None = None, *, bold: bool = False) -> Piece:
    """Text in one style, made safe to print."""
    return visible(text), ink, bold


class Paragraphs:
    """Prints lines and paragraphs for a person.

    Attributes:
        columns: of the terminal, or None if there is none.
    """

    def __init__(self) -> None:
        self.columns = width()
        self._color = use_color()

    def line(self, *pieces: Piece) -> None:
        """Prints one line as it is."""
        text = "".join(paint(*p[:2], bold=p[2]) if self._color else p[0] for p in pieces)
        click.echo(text if self._color else text.rstrip(), color=self._color)

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

    def table(self, rows: list[list[list[Piece]]], indent: str, *, is_cut: bool = False) -> None:
        """Prints cells that are as wide as the widest; only the last one in a row has to fit.

        Args:
            rows: of cells of pieces.
            indent: what stands before each line.
            is_cut: whether the last cell, of one piece, is cut to the terminal, and not wrapped.
        """
        if not rows:
            return
        count = max(map(len, rows))
        widths = [
            max((_columns(row[n]) for row in rows if n < len(row)), default=0)
            for n in range(count - 1)
        ]
        for row in rows:
            lead: list[Piece] = [(indent, None, False)]
            for cell, wide in zip(row[:-1], widths, strict=False):
                lead += [*cell, (" " * (wide - _columns(cell) + 2), None, False)]
            taken = _columns(lead)
            room = None if self.columns is None else max(20, self.columns - taken)
            last = [(fit(text, room), ink, bold) for text, ink, bold in row[-1]]
            for line in wrap(last if is_cut else row[-1], room):
                self.line(*lead, *line)
                lead = [(" " * taken, None, False)]


def wrap(pieces: list[Piece] | tuple[Piece, ...], columns: int | None) -> Iterator[list[Piece]]:
    """Breaks text into lines between words, and a word only if it has to be; at least one line."""
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


def _words(pieces: list[Piece] | tuple[Piece, ...], columns: int) -> Iterator[Piece]:
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


def _columns(pieces: list[Piece]) -> int:
    return sum(columns_of(text) for text, _, _ in pieces)
