"""Shows long output on a terminal in the user's pager.

Click starts the pager at the first byte of output, so a command without output starts no pager.
While a pager runs, no progress bar is drawn on the terminal.
"""

import io
import os
import shlex
import sys
from collections.abc import Callable
from contextlib import ExitStack, redirect_stdout, suppress
from functools import wraps
from typing import Any, TypeVar

import click

from acp_proxy.cli.shared_flags import NO_PAGER

F = TypeVar("F", bound=Callable[..., Any])
_FOR_PROGRAMS = ("json", "raw", "follow")
"""Options whose output is never paged."""


def pages(function: F) -> F:
    """Makes a command show its output in a pager, if stdout is a terminal.

    Args:
        function: the command. Its options ``json``, ``raw`` and ``follow`` switch the pager off.
    """

    @wraps(function)
    def command(*args: Any, **values: Any) -> Any:
        pager = _wanted()
        is_unwanted = not pager or NO_PAGER.is_given() or any(map(values.get, _FOR_PROGRAMS))
        if is_unwanted or not (sys.stdin.isatty() and sys.stdout.isatty()):
            return function(*args, **values)
        os.environ["PAGER"] = pager  # read by click
        os.environ.setdefault("LESS", "FRX")  # exit if all fits, pass colours, keep the screen
        return _paged(lambda: function(*args, **values))

    return command  # type: ignore[return-value]


def _wanted() -> str:
    """Returns the command of the user's pager; empty if the user wants no pager."""
    pager = os.environ.get("ACP_PROXY_PAGER", os.environ.get("PAGER", "less"))
    try:
        words = shlex.split(pager)
    except ValueError:  # a quote is missing
        return ""
    return "" if words in ([], ["cat"]) else pager


def _paged(function: Callable[[], Any]) -> Any:
    """Calls a function, and shows its output in the pager.

    An error of the function is raised after the user has left the pager.
    """
    error: BaseException | None = None
    result = None
    with ExitStack() as stack:
        pipe = io.BufferedWriter(_PagerPipe(stack))
        page = io.TextIOWrapper(pipe, sys.stdout.encoding, errors="backslashreplace")
        with suppress(BrokenPipeError), page, redirect_stdout(page):  # the user may leave early
            try:
                result = function()
            except BaseException as e:
                error = e
    if error is not None and not isinstance(error, BrokenPipeError):
        raise error
    return result


class _PagerPipe(io.RawIOBase):
    """The input of the pager. It claims to be a terminal, so that output has colours."""

    def __init__(self, stack: ExitStack) -> None:
        super().__init__()
        self._stack = stack
        self._terminal = sys.stdout
        self.pager: Any = None

    def isatty(self) -> bool:
        return True

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        if self.pager is None:
            sys.stderr.flush()
            with redirect_stdout(self._terminal):
                self.pager = self._stack.enter_context(click.get_pager_file(color=True)).buffer
        self.pager.write(data)
        self.pager.flush()
        return len(data)
