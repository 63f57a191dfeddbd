"""Printing for people and for programs: widths, colours, JSON lines and broken pipes."""

import os
import shutil
import sys
import unicodedata
from typing import Any

import click
import msgspec

from acp_proxy.forms import converter
from acp_proxy.inspection.preview import visible


def use_color() -> bool:
    """Whether to colour: on a terminal, unless NO_COLOR or FORCE_COLOR says otherwise."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return sys.stdout.isatty()


def width() -> int | None:
    """Columns of the terminal, or None when the output is no terminal and is never cut."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def say(text: str = "", **style: Any) -> None:
    """Prints data for a person on stdout."""
    color = use_color()
    text = "\n".join(map(visible, text.split("\n")))
    click.echo(click.style(text, **style) if style and color else text, color=color)


def warn(text: str) -> None:
    """Prints one line for a person on stderr."""
    click.echo(f"acp-proxy: {visible(text)}", err=True)


def say_json(value: Any) -> None:
    """Prints one of our own values as a line of JSON."""
    write_line(msgspec.json.encode(converter.unstructure(value)))


def write_line(line: bytes) -> None:
    """Writes a line for a program: the same bytes in every locale."""
    sys.stdout.flush()
    sys.stdout.buffer.write(line + b"\n")


def fit(text: str, columns: int | None) -> str:
    """Cuts text to a number of columns, in which CJK and emoji take two."""
    if columns is None or columns_of(text) <= columns:
        return text
    taken = 1  # the ellipsis
    for place, character in enumerate(text):
        taken += columns_of(character)
        if taken > columns:
            return text[:place] + "…"
    return text


def columns_of(text: str) -> int:
    """Columns that text takes on a terminal."""
    if text.isascii():
        return len(text)
    marks = sum(c in "\u200d\ufe0f" or unicodedata.combining(c) > 0 for c in text)
    return len(text) - marks + sum(unicodedata.east_asian_width(c) in "WF" for c in text)


def pad(text: str, columns: int) -> str:
    """Fills text up to a number of columns."""
    return text + " " * max(0, columns - columns_of(text))
