"""Draws the README's pictures of output on a terminal, as SVG.

``python -m tests.tools.pictures`` writes `docs/pictures` anew. A picture has a light or dark
background, as the reader prefers. Each piece of text has a fixed place and width, whatever the font
is.
"""

from __future__ import annotations

import contextlib
import re
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING
from unittest.mock import patch

from acp_proxy.cli.screens.styled_text import columns_of
from tests.support.command_line import run
from tests.tools.walkthrough import in_utc

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
PICTURES = ROOT / "docs/pictures"
COLUMNS = 120
PICTURED = {
    "show.svg": ("show", "recordings/lost-permission.db"),
    "log.svg": ("log", "recordings/tour.db", "turn:1"),
}
"""The arguments of the program, by the name of the picture."""

_WIDTH, _HEIGHT, _MARGIN = 8.0, 18, 14
"""The width of a column, the height of a line, and the margin, in pixels."""
_STYLE = """
    text { font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace;
           fill: #1f2328 }
    rect { fill: #ffffff; stroke: #d1d9e0 }
    .bold { font-weight: bold }
    @media (prefers-color-scheme: dark) {
      text { fill: #e6edf3 }
      rect { fill: #0d1117; stroke: #3d444d }
    }
"""
_WORDS = re.compile(r"\S+(?: \S+)*")
"""A regular expression for the texts of one element: some programs draw several blanks as one."""
_SGR = re.compile(r"\x1b\[([0-9;]*)m")
_CUBE = (0, 95, 135, 175, 215, 255)


def printed(*arguments: str) -> str:
    """Returns the output of a command on a terminal, with colours."""
    terminal = patch("acp_proxy.cli.screens.output.width", lambda: COLUMNS)
    with contextlib.chdir(ROOT), in_utc(), terminal:
        result = run(*arguments, FORCE_COLOR="1")
    assert (result.exit_code, result.stderr) == (0, ""), result.output
    return result.stdout


def picture(*arguments: str) -> str:
    """Returns the picture of a command and its output."""
    lines = [f"$ acp-proxy {' '.join(arguments)}", *printed(*arguments).splitlines()]
    width = COLUMNS * _WIDTH + 2 * _MARGIN
    height = len(lines) * _HEIGHT + 2 * _MARGIN
    texts = [text for row, line in enumerate(lines) for text in _texts(line, row)]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" height="{height}"'
            f' viewBox="0 0 {width:g} {height}">',
            f"  <style>{_STYLE}  </style>",
            f'  <rect x="0.5" y="0.5" width="{width - 1:g}" height="{height - 1}" rx="6"/>',
            *texts,
            "</svg>\n",
        ]
    )


def _texts(line: str, row: int) -> Iterator[str]:
    y = _MARGIN + row * _HEIGHT + 13
    column = 0
    for text, color, is_bold in pieces(line):
        style = f' style="fill:{color}"' if color else ""
        style += ' class="bold"' if is_bold else ""
        for words in _WORDS.finditer(text):
            x = _MARGIN + (column + columns_of(text[: words.start()])) * _WIDTH
            yield (
                f'  <text x="{x:g}" y="{y}" textLength="{columns_of(words[0]) * _WIDTH:g}"'
                f' lengthAdjust="spacingAndGlyphs"{style}>{escape(words[0], quote=False)}</text>'
            )
        column += columns_of(text)


def pieces(line: str) -> Iterator[tuple[str, str | None, bool]]:
    """Yields the pieces of a line: the text, its colour or None, and whether it is bold."""
    color, is_bold = None, False
    before, *rest = _SGR.split(line)
    yield before, color, is_bold
    for codes, text in zip(rest[::2], rest[1::2], strict=True):
        numbers = [int(code or 0) for code in codes.split(";")]
        while numbers:
            match numbers:
                case [0, *numbers]:
                    color, is_bold = None, False
                case [1, *numbers]:
                    is_bold = True
                case [38, 5, number, *numbers]:
                    color = color_of(number)
                case _:
                    raise ValueError(f"expected codes of ours, got {codes!r}")
        yield text, color, is_bold


def color_of(number: int) -> str:
    """Returns the CSS colour for one of the 240 numbered colours of terminals."""
    if number >= 232:
        parts = [8 + 10 * (number - 232)] * 3
    else:
        red, green = divmod(number - 16, 36)[0], (number - 16) // 6 % 6
        parts = [_CUBE[red], _CUBE[green], _CUBE[(number - 16) % 6]]
    return "#" + "".join(f"{part:02x}" for part in parts)


def main() -> None:
    """Draws and writes all pictures."""
    PICTURES.mkdir(exist_ok=True)
    for name, arguments in PICTURED.items():
        (PICTURES / name).write_text(picture(*arguments), encoding="utf-8")


if __name__ == "__main__":
    main()
