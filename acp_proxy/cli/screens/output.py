"""Printing for people and for programs: lines, JSON, bytes, and a progress bar.

All that the command line prints goes through this module: to stdout through a `Writer`, to stderr
through `_print_error`. Only click's own help and the bar itself are printed by click.
"""

import functools
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, BinaryIO, ParamSpec, TypeVar

import click

from acp_proxy.base.safe_text import visible, visible_json
from acp_proxy.cli.masking import without_secrets
from acp_proxy.cli.screens.styled_text import Piece, Screen, fit
from acp_proxy.protocol.json_text import encode_json

_PATIENCE_S = 1.0
"""Seconds before a progress bar is shown."""
_REDRAW_S = 0.1
_CLEAR = "\r\x1b[2K\x1b[?25h"
"""Back to the line's start, all of it gone, the cursor visible."""

_VERDICT = "acp_proxy.verdict"

T = TypeVar("T")
P = ParamSpec("P")


def with_verdict(command: Callable[P, T]) -> Callable[P, T]:
    """Marks a command whose exit code is its verdict, so that it does not stop without a reader.

    Args:
        command: the function of the command.
    """

    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> T:
        click.get_current_context().meta[_VERDICT] = True
        return command(*args, **kwargs)

    return run


def lose_reader() -> None:
    """Discards all further output, since the reader of stdout is gone; the command goes on.

    Raises:
        BrokenPipeError: the exit code of the command is no verdict, so it can stop.
    """
    context = click.get_current_context(silent=True)
    if context is None or _VERDICT not in context.meta:
        raise BrokenPipeError
    drop_output()


def drop_output() -> None:
    """Discards all that is written to stdout from now on."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def use_color() -> bool:
    """Whether to colour: on a terminal, unless NO_COLOR or FORCE_COLOR is set."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return sys.stdout.isatty()


def width() -> int | None:
    """Columns of the terminal, or None when the output is no terminal and is never cut."""
    return _columns() if sys.stdout.isatty() else None


def stdout_screen() -> Screen:
    """Returns the width and the colours of stdout."""
    return Screen(width(), use_color())


def say(text: str = "", **style: Any) -> None:
    """Prints a line of text on stdout; line breaks in the text become visible.

    Args:
        text: the line.
        **style: keywords of `click.style`.
    """
    text = visible(text)
    Writer().line(click.style(text, **style) if style and use_color() else text)


def warn(text: str) -> None:
    """Prints a line of text on stderr after the name of the program, or an empty line.

    Secrets in it are masked, as in what the command prints otherwise.
    """
    _print_error(f"acp-proxy: {visible(without_secrets(text))}\n" if text else "\n")


def show_status(text: str) -> None:
    """Shows a line on the terminal of stderr in place of the one before; none if it is empty."""
    columns = _columns() - len("acp-proxy: ") - 1
    _print_error(f"\r\x1b[2K{f'acp-proxy: {fit(visible(text), columns)}' if text else ''}")


def _columns() -> int:
    import shutil  # late: it imports three kinds of compression

    return shutil.get_terminal_size().columns


def ask(question: str) -> bool:
    """Asks on the terminal whether to do something; whatever is no yes means no."""
    _print_error(f"acp-proxy: {visible(question)} [y/N] ")
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _print_error(text: str) -> None:
    click.echo(text, nl=False, err=True)


def say_json(value: Any) -> None:
    """Prints one of our own values as a line of JSON: the same bytes in every locale."""
    from acp_proxy.base.forms import converter  # late: a line of text needs no converter

    Writer().json(encode_json(converter.unstructure(value)))


class Writer:
    """Writes many lines to stdout: in blocks, except where a reader waits for the next one.

    On a terminal each line is seen at once. In a pipe a line is written at once if it comes after
    a pause, as the first one does, or the one match in a million frames.
    """

    _PAUSE_S = 0.05

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, out: BinaryIO | None = None
    ) -> None:
        """Begins to write.

        Args:
            clock: seconds, from any origin.
            out: a file that takes all of it as UTF-8, in place of stdout.
        """
        sys.stdout.flush()
        self._clock = clock
        self._out = out or sys.stdout.buffer
        self._encoding = "utf-8" if out else sys.stdout.encoding
        self._watched = out is None and sys.stdout.isatty()
        self._flushed = 0.0

    def line(self, text: str) -> None:
        """Writes a line of text without control characters but colours."""
        self.raw(f"{text}\n".encode(self._encoding, "backslashreplace"))

    def json(self, data: bytes) -> None:
        """Writes JSON as a line that commands no terminal and hides nothing.

        Control, bidirectional and invisible characters, which can only be within strings, become
        escapes that mean the same.
        """
        self.raw(visible_json(data) + b"\n")

    def all(self, parts: Iterable[bytes]) -> None:
        """Writes many bytes for a program, in blocks."""
        try:
            self._out.writelines(parts)
        except BrokenPipeError:
            lose_reader()

    def raw(self, data: bytes) -> None:
        """Writes bytes for a program."""
        now = self._clock()
        try:
            self._out.write(data)
            if self._watched or now - self._flushed > self._PAUSE_S:
                self._out.flush()
                self._flushed = now
        except BrokenPipeError:
            lose_reader()

    def flush(self) -> None:
        """Lets everything be seen."""
        try:
            self._out.flush()
        except BrokenPipeError:
            lose_reader()


class Page(Writer):
    """Writes lines of pieces, as wide as a screen."""

    def __init__(self, screen: Screen, out: BinaryIO | None = None) -> None:
        """Begins a page.

        Args:
            screen: what the lines have to fit.
            out: a file that takes them as UTF-8, in place of stdout.
        """
        super().__init__(out=out)
        self.screen = screen

    def print(self, *pieces: Piece) -> None:
        """Writes a line, cut to the screen."""
        self.line(self.screen.line(*pieces))

    def wrap(self, first: Piece, *pieces: Piece, indent: int | None = None) -> None:
        """Writes lines that break where the screen ends.

        Args:
            first: see `Screen.wrapped`.
            *pieces: see there.
            indent: see there.
        """
        self.lines(self.screen.wrapped(first, *pieces, indent=indent))

    def lines(self, lines: Iterable[str]) -> None:
        """Writes lines that are complete."""
        for line in lines:
            self.line(line)


def progress(
    items: Iterable[T],
    total: int | None = None,
    label: str = "",
    *,
    size: Callable[[T], int] | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[T]:
    """Yields the items, and shows on stderr how far it is if that takes more than a second.

    Where stderr is no terminal nothing is ever shown. The bar is gone when the items end, and also
    when the consumer stops early and closes the iterator.

    Args:
        items: what is worked on; the time between two of them counts as well.
        total: how many there are, if that is known.
        label: what is being done, in a word or two.
        size: returns how much of the total an item is; each is one if it is None.
        clock: seconds, from any origin.
    """
    return _shown(items, total, label, size, clock) if sys.stderr.isatty() else iter(items)


def _shown(
    items: Iterable[T],
    total: int | None,
    label: str,
    size: Callable[[T], int] | None,
    clock: Callable[[], float],
) -> Iterator[T]:
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
            if getattr(sys.stdout, "hides_progress", False):  # see `pager`
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


def _bar(total: int | None, label: str) -> Any:
    """Returns a bar that is never finished: `finally` erases it."""
    nothing: tuple[Any, ...] = ()
    unknown = (item for item in nothing) if total is None else None  # its length cannot be asked
    return click.progressbar(
        unknown, length=total, label=label, file=sys.stderr, show_pos=True, width=0
    )
