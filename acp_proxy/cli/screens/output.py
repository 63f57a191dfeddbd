"""Printing for people and for programs: lines, JSON, bytes, and a progress bar.

All lines on stdout and stderr pass through this module, except for help texts and the progress bar.
"""

import functools
import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any, BinaryIO, ParamSpec, TypeVar

import click

from acp_proxy.base.wording import visible, visible_json
from acp_proxy.cli.masking import without_secrets
from acp_proxy.cli.screens.styled_text import Piece, Screen, columns_of, fit, piece
from acp_proxy.protocol.json_text import encode_json

_PATIENCE_S = 1.0
"""Seconds after which a progress bar is shown."""
_REDRAW_S = 0.1
_CLEAR = "\r\x1b[2K\x1b[?25h"
"""Moves to the start of the line, erases it, and shows the cursor."""

_VERDICT = "acp_proxy.verdict"

T = TypeVar("T")
P = ParamSpec("P")


def with_verdict(command: Callable[P, T]) -> Callable[P, T]:
    """Marks a command whose exit code is a verdict. The command continues even if stdout is closed.

    Args:
        command: the function of the command.
    """

    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> T:
        click.get_current_context().meta[_VERDICT] = True
        return command(*args, **kwargs)

    return run


def lose_reader() -> None:
    """Discards all further output on stdout, since its reader is gone. The command continues.

    Raises:
        BrokenPipeError: the command need not continue, since its exit code is not a verdict.
    """
    context = click.get_current_context(silent=True)
    if context is None or _VERDICT not in context.meta:
        raise BrokenPipeError
    drop_output()


def drop_output() -> None:
    """Discards all later output on stdout."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def use_color() -> bool:
    """Whether to print colours.

    NO_COLOR and FORCE_COLOR decide. Without them, colours are printed if stdout is a terminal.
    """
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return sys.stdout.isatty()


def width() -> int | None:
    """Returns the width of the terminal in columns; None if stdout is not a terminal."""
    return _columns() if sys.stdout.isatty() else None


def stdout_screen() -> Screen:
    """Returns a screen with the width and the colours of stdout."""
    return Screen(width(), use_color())


def say(text: str = "", **style: Any) -> None:
    """Prints a line on stdout. Line breaks in the text are escaped.

    On a terminal, a line without indentation is wrapped at spaces.

    Args:
        text: the line.
        **style: keywords of `click.style`.
    """
    text = visible(text)
    if (columns := width()) is not None and not text.startswith(" "):
        text = _wrapped(text, columns)
    Writer().line(click.style(text, **style) if style and use_color() else text)


def warn(text: str) -> None:
    """Prints the program's name and a message on stderr. An empty message prints a blank line.

    Secrets in the message are masked. On a terminal, the message is wrapped at spaces, but if
    possible not within backticks.
    """
    line = f"acp-proxy: {visible(without_secrets(text))}" if text else ""
    if sys.stderr.isatty():
        line = _wrapped(line, _columns())
    _print_error(f"{line}\n")


def _wrapped(text: str, columns: int) -> str:
    lines = [""]
    tokens = re.findall(r"(?:`[^`]*`|[^ ])* *", text)
    room = columns - len("  ")
    parts = (re.findall("[^ ]* *", t) if columns_of(t.rstrip()) > room else [t] for t in tokens)
    for token in chain.from_iterable(parts):
        if lines[-1] and columns_of(lines[-1]) + columns_of(token.rstrip()) > columns:
            lines.append("  ")
        lines[-1] += token
    return "\n".join(map(str.rstrip, lines))


def show_status(text: str) -> None:
    """Replaces the status line on stderr, which must be a terminal. An empty text removes it."""
    columns = _columns() - len("acp-proxy: ") - 1
    _print_error(f"\r\x1b[2K{f'acp-proxy: {fit(visible(text), columns)}' if text else ''}")


def _columns() -> int:
    import shutil  # late: it imports three kinds of compression

    return shutil.get_terminal_size().columns


def ask(question: str) -> bool:
    """Asks a question on the terminal. Returns whether the answer is yes."""
    _print_error(f"acp-proxy: {visible(question)} [y/N] ")
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _print_error(text: str) -> None:
    click.echo(text, nl=False, err=True)


def say_json(value: Any) -> None:
    """Prints a value as one line of JSON. The bytes do not depend on the locale."""
    from acp_proxy.base.forms import converter  # late: a line of text needs no converter

    Writer().json(encode_json(converter.unstructure(value)))


class Writer:
    """Writes many lines to stdout, in blocks.

    A terminal gets each line at once. A pipe gets the waiting lines when a block is full, or with
    the first line that is written more than `_PAUSE_S` seconds after the latest flush.
    """

    _PAUSE_S = 0.05

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, out: BinaryIO | None = None
    ) -> None:
        """Prepares to write.

        Args:
            clock: a function that returns seconds, from any origin.
            out: a file that gets the output as UTF-8; None for stdout.
        """
        sys.stdout.flush()
        self._clock = clock
        self._out = out or sys.stdout.buffer
        self._encoding = "utf-8" if out else sys.stdout.encoding
        self._watched = out is None and sys.stdout.isatty()
        self._flushed = 0.0

    def line(self, text: str) -> None:
        """Writes a line of text. The text may contain colours, but no other control characters."""
        self.raw(f"{text}\n".encode(self._encoding, "backslashreplace"))

    def json(self, data: bytes) -> None:
        """Writes JSON as one line that is safe on a terminal.

        Control, bidirectional and invisible characters in strings become JSON escapes.
        """
        self.raw(visible_json(data) + b"\n")

    def all(self, parts: Iterable[bytes]) -> None:
        """Writes all parts of an output unchanged, without a flush after each part."""
        try:
            self._out.writelines(parts)
        except BrokenPipeError:
            lose_reader()

    def raw(self, data: bytes) -> None:
        """Writes bytes unchanged."""
        now = self._clock()
        try:
            self._out.write(data)
            if self._watched or now - self._flushed > self._PAUSE_S:
                self._out.flush()
                self._flushed = now
        except BrokenPipeError:
            lose_reader()

    def flush(self) -> None:
        """Writes all waiting output to stdout or to the file."""
        try:
            self._out.flush()
        except BrokenPipeError:
            lose_reader()


class Page(Writer):
    """Writes lines of styled pieces that fit the screen."""

    def __init__(self, screen: Screen, out: BinaryIO | None = None) -> None:
        """Begins a page.

        Args:
            screen: the screen that the lines have to fit.
            out: a file that gets the output as UTF-8; None for stdout.
        """
        super().__init__(out=out)
        self.screen = screen

    def print(self, *pieces: Piece) -> None:
        """Writes a line, cut to the width of the screen."""
        self.line(self.screen.line(*pieces))

    def wrap(self, first: Piece, *pieces: Piece, indent: int | None = None) -> None:
        """Writes text, wrapped to the width of the screen.

        Args:
            first: the piece before the text of the first line.
            *pieces: the text.
            indent: the indentation of the lines after the first; the default is the width of
                `first`.
        """
        self.lines(self.screen.wrapped(first, *pieces, indent=indent))

    def lines(self, lines: Iterable[str]) -> None:
        """Writes lines that already fit the screen."""
        for line in lines:
            self.line(line)

    def next(self, *commands: str) -> None:
        """Writes a blank line, and then the commands that the user may type next.

        Args:
            *commands: the commands, one for each line.
        """
        self.line("")
        for number, command in enumerate(commands):
            lead = piece("      " if number else "Next: ")
            self.wrap(lead, piece(command, bold=True))


def progress(
    items: Iterable[T],
    total: int | None = None,
    label: str = "",
    *,
    size: Callable[[T], int] | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[T]:
    """Yields the items. Shows a progress bar on stderr if the items take more than a second.

    No bar is shown if stderr is not a terminal. The bar is removed at the end of the items, or when
    the consumer stops early.

    Args:
        items: the items. The time that the consumer spends on an item counts, too.
        total: the sum of the sizes of all items; None if it is not known.
        label: a word or two about the work.
        size: returns how much an item adds to the progress; by default 1.
        clock: returns the present time in seconds, from any origin.
    """

    def shown() -> Iterator[T]:
        began = drawn = clock()
        bar: Any = None
        undrawn = 0
        try:
            for item in items:
                yield item
                undrawn += 1 if size is None else size(item)
                now = clock()
                if now - began < _PATIENCE_S or now - drawn < _REDRAW_S:
                    continue
                pipe = getattr(sys.stdout.buffer, "raw", None)
                if (
                    getattr(pipe, "pager", None) is not None
                ):  # the pager uses the same terminal as the bar
                    if bar is not None:
                        _print_error(_CLEAR)
                        bar = None
                    continue
                bar = bar or _bar(total, label)
                bar.update(undrawn)
                drawn, undrawn = now, 0
        finally:
            if bar is not None:
                _print_error(_CLEAR)

    return shown() if sys.stderr.isatty() else iter(items)


def _bar(total: int | None, label: str) -> Any:
    """Returns a progress bar. The caller must erase it."""
    unknown: Any = chain() if total is None else None  # an iterable without a length
    return click.progressbar(
        unknown, length=total, label=label, file=sys.stderr, show_pos=True, width=0
    )
