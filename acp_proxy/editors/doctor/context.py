"""The input and results of `doctor`'s checks, and a function that asks a program for its version.

`docs/json.md` lists the members of the results.
"""

import contextlib
import os
import re
import select
import shlex
import signal
import subprocess
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from enum import StrEnum
from pathlib import Path

from attrs import field, frozen

from acp_proxy.editors.agents import Machine

TIMEOUT_S = 5.0
_MOST = 4096
_VERSION = re.compile(rb"acp-proxy, version ([!-~]{1,40})\s*")


@frozen
class VersionAnswer:
    """The answer of a program that was asked for its version."""

    version: str | None
    trouble: str = ""
    """Why there is no version, as a phrase to be written after the program's name."""


def ask_version(
    words: Sequence[str], environ: Mapping[str, str], timeout_s: float = TIMEOUT_S
) -> VersionAnswer:
    """Runs a program with ``--version`` and returns its answer.

    Args:
        words: the path of the program, and the arguments before ``--version``.
        environ: the environment of the program.
        timeout_s: seconds after which the process group of the program is killed.
    """
    try:
        process = subprocess.Popen(
            [*words, "--version"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**environ, "PYTHONDONTWRITEBYTECODE": "1"},
            cwd="/",
            start_new_session=True,
        )
    except OSError as e:
        return VersionAnswer(None, _why_not_started(words[0], e))
    assert process.stdout is not None
    with process.stdout:
        deadline = time.monotonic() + timeout_s
        try:
            text = _read(process.stdout.fileno(), deadline)
            code = process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            return VersionAnswer(None, f"did not answer --version within {timeout_s:g} s")
        finally:
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
    if code:
        how = f"was ended by signal {-code}" if code < 0 else f"exits with {code}"
        return VersionAnswer(None, f"{how} when it is asked for --version")
    match = _VERSION.fullmatch(text)
    if match is None:
        return VersionAnswer(None, "does not answer --version as acp-proxy does")
    return VersionAnswer(match[1].decode("ascii"))


def _read(fd: int, deadline: float) -> bytes:
    """Reads until the stream ends, the size limit is reached or the deadline has passed."""
    text = b""
    while len(text) < _MOST:
        if not select.select([fd], [], [], max(0.0, deadline - time.monotonic()))[0]:
            break
        piece = os.read(fd, _MOST)
        if not piece:
            break
        text += piece
    return text


def _why_not_started(program: str, error: OSError) -> str:
    if isinstance(error, FileNotFoundError) and os.path.lexists(program):
        return "cannot start: the interpreter of its first line was not found"
    return f"cannot start: {error.strerror}"


class CheckStatus(StrEnum):
    """How serious the result of a check is."""

    OK = "ok"
    """Everything is as it should be."""
    WARNING = "warning"
    """The user should know this, but it may be intended."""
    ERROR = "error"
    """Something is wrong."""


@frozen
class CheckResult:
    """One finding of a check, and what to do about it."""

    check: str
    """The name of the check; empty until `examine` sets it."""
    status: CheckStatus
    text: str
    advice: str = ""
    """The recommended action, in words."""
    commands: list[str] = field(factory=list)
    """Shell commands that solve the problem."""


@frozen
class Examination:
    """The results of all checks."""

    version: str
    """The version of acp-proxy."""
    command: list[str]
    """The words that start acp-proxy."""
    recordings: str
    """The recordings directory."""
    status: CheckStatus
    """The worst status of all results."""
    results: list[CheckResult]


@frozen
class DoctorContext:
    """The machine, and how acp-proxy is started on it."""

    machine: Machine
    own: tuple[str, ...]
    """The words that start this acp-proxy."""
    is_temporary: bool
    """Whether this acp-proxy is in a cache or a temporary directory, and so may be removed."""
    recordings: Path
    """The recordings directory."""
    read_record: Callable[[Sequence[str]], list[str]]
    """Returns the agent's command in arguments of ``record``; raises ValueError for wrong
    arguments."""
    commands: Collection[str]
    """The names of acp-proxy's commands. Variables can set the options of these commands."""
    removed: Callable[[str, str], str | None]
    """Returns what replaces a removed option, given its variable and value; None for other
    variables."""
    now: float
    """The time of the checks, in seconds since 1970."""
    monotonic_ns: int
    """The monotonic time of the checks, in nanoseconds."""
    unredacted: bool = False
    """Whether to show the secrets of recordings in which secrets are not masked."""
    ask: Callable[[Sequence[str], Mapping[str, str]], VersionAnswer] = field(default=ask_version)
    """Asks an installed acp-proxy for its version; see `ask_version`."""

    def command(self, *words: str | Path) -> str:
        """Returns a shell command that runs this acp-proxy, by its name if PATH leads to it.

        Args:
            *words: the arguments of acp-proxy.
        """
        script = self.machine.find("acp-proxy")
        is_named = script is not None and is_same(Path(script), Path(self.own[0]))
        return shlex.join([*(("acp-proxy",) if is_named else self.own), *map(str, words)])


def is_same(path: Path, other: Path) -> bool:
    """Whether two paths lead to the same existing file.

    Args:
        path: a path.
        other: another path.
    """
    try:
        return path.samefile(other)
    except OSError:
        return False


def ok(text: str) -> CheckResult:
    """Returns a result for something that is as it should be.

    Args:
        text: what was found.
    """
    return CheckResult("", CheckStatus.OK, text)


def warning(text: str, *commands: str, advice: str = "") -> CheckResult:
    """Returns a result for something that is probably wrong, or that the user should know about.

    Args:
        text: what was found.
        *commands: shell commands that solve the problem.
        advice: what to do, in words.
    """
    return CheckResult("", CheckStatus.WARNING, text, advice, [*commands])


def error(text: str, *commands: str, advice: str = "") -> CheckResult:
    """Returns a result for something that is wrong.

    Args:
        text: what was found.
        *commands: shell commands that solve the problem.
        advice: what to do, in words.
    """
    return CheckResult("", CheckStatus.ERROR, text, advice, [*commands])
