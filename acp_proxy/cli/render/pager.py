"""Shows long output in the user's pager, as git does.

`ACP_PROXY_PAGER`, else `PAGER`, else less. The pager starts with the first byte that a command
prints, so that a command that prints nothing, or fails, starts none. While it runs no progress bar
is drawn, since both would write on the same terminal.
"""

import contextlib
import io
import os
import shlex
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

from acp_proxy.cli.render.output import warn
from acp_proxy.cli.shared_flags import NO_PAGER

if TYPE_CHECKING:
    import subprocess

# What starts a pager is imported on a terminal only, so that a pipe is quick.

F = TypeVar("F", bound=Callable[..., Any])
_FOR_PROGRAMS = ("json", "raw", "follow")
"""Options of commands with whose output no pager has to do."""
_NONE = ("", "cat")
_DEFAULTS = {"LESS": "FRX", "LV": "-c"}
"""less ends at once if all fits the screen (F), passes colours on (R) and keeps the screen (X)."""


def pages(function: F) -> F:
    """Makes a command show its output in a pager, if that is for a person at a terminal.

    Args:
        function: the command; of its options ``json``, ``raw`` and ``follow`` have no pager.
    """

    @wraps(function)
    def command(*args: Any, **values: Any) -> Any:
        for_programs = any(values.get(name) for name in _FOR_PROGRAMS)
        pager = None
        if sys.stdout.isatty() and not for_programs and not NO_PAGER.is_given():
            pager = chosen_pager(os.environ)
        with contextlib.nullcontext() if pager is None else paged(pager):
            return function(*args, **values)

    return command  # type: ignore[return-value]


def chosen_pager(variables: Mapping[str, str]) -> str | None:
    """Returns the command of the pager, for a shell; None for none.

    Args:
        variables: the environment.
    """
    for name in ("ACP_PROXY_PAGER", "PAGER"):
        if name in variables:
            wanted = variables[name].strip()
            if wanted in _NONE:
                return None
            if _is_there(wanted):
                return wanted
            warn(f"the pager {wanted!r} of ${name} was not found; the output is printed")
            return None
    return "less" if _find("less") else None


def _is_there(command: str) -> bool:
    try:
        words = shlex.split(command)
    except ValueError:
        return False
    first = next((word for word in words if "=" not in word), "")
    return _find(first) is not None


def _find(program: str) -> str | None:
    import shutil

    return shutil.which(program)


@contextlib.contextmanager
def paged(command: str) -> Iterator[None]:
    """Sends what is printed on stdout to a pager, until its user has quit it.

    Whoever quits early has read enough: then the rest is not printed, and that is no error.

    Args:
        command: of the pager, for a shell.
    """
    terminal = sys.stdout
    pipe = _PagerPipe(command)
    page = _PagedOutput(pipe, terminal.encoding)
    sys.stdout = page
    try:
        with contextlib.suppress(BrokenPipeError):
            yield
            page.flush()
    finally:
        sys.stdout = terminal
        with contextlib.suppress(BrokenPipeError, ValueError):
            page.close()
        pipe.wait()


class _PagedOutput(io.TextIOWrapper):
    """A terminal still, to those who ask for its colours and its width."""

    def __init__(self, pipe: "_PagerPipe", encoding: str) -> None:
        super().__init__(io.BufferedWriter(pipe), encoding=encoding, errors="backslashreplace")
        self._pipe = pipe

    def isatty(self) -> bool:
        return True

    @property
    def hides_progress(self) -> bool:
        """Whether a pager has the terminal."""
        return self._pipe.is_running


class _PagerPipe(io.RawIOBase):
    """A pipe to a pager, which starts when something is written."""

    def __init__(self, command: str) -> None:
        super().__init__()
        self._command = command
        self._process: subprocess.Popen[bytes] | None = None

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        if self._process is None:
            import subprocess

            sys.stderr.flush()
            self._process = subprocess.Popen(
                self._command,
                shell=True,
                stdin=subprocess.PIPE,
                bufsize=0,
                env={**_DEFAULTS, **os.environ},
            )
        assert self._process.stdin is not None
        return self._process.stdin.write(data) or 0

    def wait(self) -> None:
        """Waits until the pager ends; Ctrl-C is its affair."""
        if self._process is None:
            return
        assert self._process.stdin is not None
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            with contextlib.suppress(BrokenPipeError):
                self._process.stdin.close()
            self._process.wait()
        finally:
            signal.signal(signal.SIGINT, before)

    @property
    def is_running(self) -> bool:
        """Whether the pager has the terminal."""
        return self._process is not None
