"""The argument and the results of all checks of `doctor`; `docs/json.md` lists the members."""

import shlex
from collections.abc import Callable, Collection, Mapping, Sequence
from enum import StrEnum
from pathlib import Path

from attrs import field, frozen

from acp_proxy.editors.agents import Machine
from acp_proxy.editors.doctor.programs import VersionAnswer, ask_version


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
    """Returns the agent's command in ``record`` arguments; raises ValueError if they are wrong."""
    commands: Collection[str]
    """The names of the commands, whose options can be set by variables."""
    removed: Callable[[str, str], str | None]
    """Returns what replaces a removed option, by its variable and value; otherwise None."""
    now: float
    """The time of the checks, in seconds since 1970."""
    monotonic_ns: int
    """The monotonic time of the checks, in nanoseconds."""
    unredacted: bool = False
    """Whether to show secrets in recordings that are not masked."""
    ask: Callable[[Sequence[str], Mapping[str, str]], VersionAnswer] = field(default=ask_version)
    """Asks an acp-proxy for its version; see `ask_version`."""

    def command(self, *words: str | Path) -> str:
        """Returns a shell command that starts this acp-proxy; without a path if PATH contains it.

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
