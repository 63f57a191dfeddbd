"""Printing for people and for programs: widths, colours, JSON lines and broken pipes."""

import itertools
import json
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from enum import IntEnum
from functools import lru_cache
from typing import Any

import click
import msgspec

from acp_proxy.forms import converter
from acp_proxy.safe_text import visible
from acp_proxy.transcript.spelling import make_visible


class Ink(IntEnum):
    """Colours that can be read on black and on white alike, by their number among 256.

    The eight named colours are not among them: each theme has its own, and in many of them yellow,
    cyan and green vanish on white, or blue on black.
    """

    TO_AGENT = 32
    """Blue."""
    TO_CLIENT = 28
    """Green."""
    STDERR = 130
    """Brown; also for what took long."""
    PERMISSION = 163
    """Magenta."""
    TROUBLE = 196
    """Red."""
    FAINT = 244
    """Grey, for what matters least."""


def use_color() -> bool:
    """Whether to colour: on a terminal, unless NO_COLOR or FORCE_COLOR is set."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return sys.stdout.isatty()


def width() -> int | None:
    """Columns of the terminal, or None when the output is no terminal and is never cut."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def paint(text: str, ink: int | None = None, *, bold: bool = False) -> str:
    """Colours text that holds no control characters.

    Args:
        text: without control characters.
        ink: its colour among 256; None for that of the terminal.
        bold: whether it is bold.
    """
    if not text or (ink is None and not bold):
        return text
    codes = ";".join(filter(None, ("1" if bold else "", "" if ink is None else f"38;5;{ink:d}")))
    return f"\x1b[{codes}m{text}\x1b[0m"


def say(text: str = "", **style: Any) -> None:
    """Prints a line of text on stdout; line breaks in the text become visible.

    Args:
        text: the line.
        **style: keywords of `click.style`.
    """
    color = use_color()
    text = visible(text)
    click.echo(click.style(text, **style) if style and color else text, color=color)


def warn(text: str) -> None:
    """Prints a line of text on stderr, after the name of the program."""
    click.echo(f"acp-proxy: {visible(text)}", err=True)


def say_json(value: Any) -> None:
    """Prints one of our own values as a line of JSON: the same bytes in every locale."""
    sys.stdout.flush()
    sys.stdout.buffer.write(json_line(encode_json(converter.unstructure(value))))


def encode_json(value: Any) -> bytes:
    """JSON, also of what JSON has no room for: half a surrogate pair, or what is no number."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        text = json.dumps(value)
        return json.dumps(json.loads(text, parse_constant=lambda _: None)).encode()


def json_line(data: bytes) -> bytes:
    """JSON as every ``--json`` prints it: a line that commands no terminal and hides nothing.

    Control, bidirectional and invisible characters, which can only be within strings, become
    escapes that mean the same.
    """
    return make_visible(data) + b"\n"


class Writer:
    """Writes many lines: in blocks, except where a reader waits for the next one.

    On a terminal each line is seen at once. In a pipe a line is written at once if it comes after
    a pause, as the first one does, or the one match in a million frames.
    """

    _PAUSE_S = 0.05

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        sys.stdout.flush()
        self._clock = clock
        self._out = sys.stdout.buffer
        self._encoding = sys.stdout.encoding
        self._watched = sys.stdout.isatty()
        self._flushed = 0.0

    def line(self, text: str) -> None:
        """Writes a line of text without control characters but colours."""
        self.raw(f"{text}\n".encode(self._encoding, "backslashreplace"))

    def json(self, data: bytes) -> None:
        """Writes JSON as a line for a program; see `json_line`."""
        self.raw(json_line(data))

    def raw(self, data: bytes) -> None:
        """Writes bytes for a program."""
        self._out.write(data)
        now = self._clock()
        if self._watched or now - self._flushed > self._PAUSE_S:
            self._out.flush()
            self._flushed = now

    def flush(self) -> None:
        """Lets everything be seen."""
        self._out.flush()


def fit(text: str, columns: int | None) -> str:
    """Cuts text to a number of columns, in which CJK and emoji take two.

    Args:
        text: without control characters.
        columns: the room; None if there is no limit.
    """
    if columns is None:
        return text
    if columns <= 0:
        return ""
    if text.isascii():
        return text if len(text) <= columns else f"{text[: columns - 1]}…"
    taken = place = cut = 0
    for cluster in clusters(text):
        taken += columns_of(cluster)
        if taken > columns:
            return f"{text[:cut]}…"
        place += len(cluster)
        if taken < columns:  # the ellipsis would still have room
            cut = place
    return text


def columns_of(text: str) -> int:
    """Columns that text takes on a terminal."""
    return len(text) if text.isascii() else _columns_of(text)


@lru_cache(1024)
def _columns_of(text: str) -> int:
    from wcwidth import wcswidth, wcwidth

    columns = wcswidth(text)
    return columns if columns >= 0 else sum(max(0, wcwidth(c)) for c in text)


def clusters(text: str) -> Iterator[str]:
    """Splits text where it may be cut: an emoji stays one, and a letter keeps its accents."""
    start = 0
    for place, (before, character) in enumerate(itertools.pairwise(text), 1):
        if not _joined(before, character, place - start):
            yield text[start:place]
            start = place
    if text:
        yield text[start:]


def _joined(before: str, character: str, length: int) -> bool:
    if character.isascii():
        return False
    if "\U0001f1e6" <= character <= "\U0001f1ff":  # two letters are a flag
        return length == 1 and "\U0001f1e6" <= before <= "\U0001f1ff"
    is_skin = "\U0001f3fb" <= character <= "\U0001f3ff"
    return before == "\u200d" or is_skin or columns_of(character) == 0


def pad(text: str, columns: int) -> str:
    """Fills text up to a number of columns.

    Args:
        text: without control characters.
        columns: the width to fill.
    """
    return text + " " * max(0, columns - columns_of(text))
