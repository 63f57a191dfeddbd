"""What the checks of `doctor` are given: the machine, and what only the command line knows."""

import shlex
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path

from attrs import field, frozen

from acp_proxy.clients.machine import Machine
from acp_proxy.doctor.programs import VersionAnswer, ask_version
from acp_proxy.doctor.values import CheckResult, CheckStatus


@frozen
class DoctorContext:
    """The machine, and how acp-proxy is started on it."""

    machine: Machine
    own: tuple[str, ...]
    """The words that start this acp-proxy."""
    is_temporary: bool
    """Whether it is in a directory that is removed some day."""
    recordings: Path
    """The recordings directory."""
    read_record: Callable[[Sequence[str]], list[str]]
    """Returns the agent's command of arguments of ``record``; a ValueError says what is wrong."""
    commands: Collection[str]
    """The commands whose options are variables."""
    now: float
    """Seconds since 1970."""
    monotonic_ns: int
    """The monotonic clock."""
    unredacted: bool = False
    """Whether secrets of recordings are shown."""
    ask: Callable[[Sequence[str], Mapping[str, str]], VersionAnswer] = field(default=ask_version)
    """Asks an acp-proxy for its version."""

    def command(self, *words: str | Path) -> str:
        """Returns a line for a shell that starts this acp-proxy: by its name, where PATH has it.

        Args:
            *words: its arguments.
        """
        found = self.machine.find("acp-proxy")
        is_named = found is not None and is_same(Path(found), Path(self.own[0]))
        return shlex.join([*(("acp-proxy",) if is_named else self.own), *map(str, words)])


def is_same(one: Path, other: Path) -> bool:
    """Whether two paths lead to one file that is there.

    Args:
        one: a path.
        other: another one.
    """
    try:
        return one.samefile(other)
    except OSError:
        return False


def ok(check: str, text: str) -> CheckResult:
    """Makes a result of what is in order.

    Args:
        check: the name of the check.
        text: what was found.
    """
    return CheckResult(check, CheckStatus.OK, text)


def warning(check: str, text: str, *commands: str, advice: str = "") -> CheckResult:
    """Makes a result of what is worth knowing.

    Args:
        check: the name of the check.
        text: what was found.
        *commands: lines for a shell that mend it.
        advice: what to do, in words.
    """
    return CheckResult(check, CheckStatus.WARNING, text, advice, [*commands])


def error(check: str, text: str, *commands: str, advice: str = "") -> CheckResult:
    """Makes a result of what is wrong.

    Args:
        check: the name of the check.
        text: what was found.
        *commands: lines for a shell that mend it.
        advice: what to do, in words.
    """
    return CheckResult(check, CheckStatus.ERROR, text, advice, [*commands])
