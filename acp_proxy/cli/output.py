"""Printing for people and for programs: widths, colours, JSON lines and broken pipes."""

import os
import shutil
import sys
import unicodedata
from typing import Any

import click
import msgspec

from acp_proxy.forms import converter


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
    """Prints one line of data on stdout."""
    color = use_color()
    click.echo(click.style(text, **style) if style and color else text, color=color)


def warn(text: str) -> None:
    """Prints one line for a person on stderr."""
    click.echo(f"acp-proxy: {text}", err=True)


def say_json(value: Any) -> None:
    """Prints one of our own values as a line of JSON."""
    plain = converter.unstructure(value)
    sys.stdout.write(msgspec.json.encode(plain).decode() + "\n")


def fit(text: str, columns: int | None) -> str:
    """Cuts text to a number of columns, in which CJK and emoji take two."""
    if columns is None:
        return text
    taken = 0
    for place, character in enumerate(text):
        taken += columns_of(character)
        if taken > columns - 1:
            rest = text[place:]
            return text if taken <= columns and len(rest) == 1 else text[:place] + "…"
    return text


def columns_of(character: str) -> int:
    """Columns that a character takes on a terminal."""
    if unicodedata.combining(character) or character in "\u200d\ufe0f":
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def pad(text: str, columns: int) -> str:
    """Fills text up to a number of columns."""
    return text + " " * max(0, columns - sum(map(columns_of, text)))
